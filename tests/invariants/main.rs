//! What the library invariants whatever is simulated: equal input gives equal output, nothing is lost, every impact
//! can be accounted for, and neither distance nor size nor mass changes that.

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

mod determinism;
#[cfg(feature = "gpu")]
mod device;
mod face;
mod far;
mod loss;
mod ratios;
mod support;
mod watch;
