//! What the library promises whatever is simulated: equal input gives equal output, nothing is lost, every impact
//! can be accounted for, and neither distance nor size nor mass changes that.

/// Makes of each case a test on either backend: `case::on_cpu`, `case::on_exact`.
macro_rules! on_each_backend {
    ($($(#[$attribute:meta])* $case:ident),* $(,)?) => {
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
        })*
    };
}

mod determinism;
mod face;
mod far;
mod loss;
mod ratios;
mod support;
