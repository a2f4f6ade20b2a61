//! Required physics: closed forms, conservation, statistics, and the CPU engine against the event-driven reference.
//! Every case is a function of the backend and runs on each backend.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod agreement;
mod bounces;
mod bullets;
mod clusters;
mod conservation;
mod cooling;
mod crowds;
mod driven;
mod heaps;
mod impacts;
mod oblique;
mod packings;
mod piles;
mod pressure;
mod rolling;
mod sleeping;
mod support;
