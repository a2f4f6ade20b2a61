//! The event-driven reference against a naive event finder and against closed forms.

mod agreement;
mod closed_forms;
mod naive;
mod refusals;
