//! Physics that must come out: closed forms, conservation, statistics, and the CPU engine against the
//! event-driven reference. Every case is a function of the backend and runs on each.

/// Makes of each case a test on every backend: `case::on_cpu`, `case::on_exact`, `case::on_gpu`. With
/// `case (gpu: "why")` the last is left to the long run: a software adapter needs minutes for it.
macro_rules! on_each_backend {
    ($($(#[$attribute:meta])* $case:ident $((gpu: $why:literal))?),* $(,)?) => {
        $(mod $case {
            #[test]
            $(#[$attribute])*
            fn on_cpu() {
                super::$case(carom::Backend::Cpu);
            }

            #[test]
            $(#[$attribute])*
            fn on_exact() {
                super::$case(carom::Backend::Exact);
            }

            #[cfg(feature = "gpu")]
            #[test]
            $(#[$attribute])*
            $(#[ignore = $why])?
            fn on_gpu() {
                super::$case(carom::Backend::Gpu);
            }
        })*
    };
}

/// The same on the two engines that have stages.
macro_rules! on_each_engine {
    ($($(#[$attribute:meta])* $case:ident $((gpu: $why:literal))?),* $(,)?) => {
        $(mod $case {
            #[test]
            $(#[$attribute])*
            fn on_cpu() {
                super::$case(carom::Backend::Cpu);
            }

            #[cfg(feature = "gpu")]
            #[test]
            $(#[$attribute])*
            $(#[ignore = $why])?
            fn on_gpu() {
                super::$case(carom::Backend::Gpu);
            }
        })*
    };
}

mod agreement;
mod bounces;
mod bullets;
mod clusters;
mod conservation;
mod cooling;
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
