//! The event-driven reference against a naive event finder and against closed forms.
mod speed;
