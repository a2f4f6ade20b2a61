//! The tiers of tests, and one test per backend.
//!
//! - default: seconds each, at most three minutes; the whole command takes about 15 minutes on two quiet cores. No assertion about
//!   time.
//! - long: up to about ten minutes each; together with the default tier less than two hours on two quiet cores.
//! - campaign: tests that take longer, and assertions about speed, which need an otherwise idle machine.
//!
//! A plain `#[test]` belongs to the default tier. `tier!` moves a test to another tier: the last part of its name is
//! then `long` or `campaign`, which `tests/run.sh` selects by, and the test is ignored otherwise. No other test is
//! ignored (tests/house.rs).

/// Makes a test of the function `name`, or of an expression: `tier!(long "40 s": name);`, `tier!(campaign "days": name
/// = run(3));`. The text gives the duration on one core, with a software adapter as `gpu`: measured, or with `about`
/// estimated.
#[allow(unused_macros)] // Some test binaries have the default tier only.
macro_rules! tier {
    ($tier:ident $time:literal: $name:ident) => {
        tier!($tier $time: $name = $name());
    };
    ($name:ident = $run:expr) => {
        #[test]
        fn $name() {
            $run;
        }
    };
    (long $time:literal: $name:ident = $run:expr) => {
        mod $name {
            use super::*;

            #[test]
            #[ignore = $time]
            fn long() {
                $run;
            }
        }
    };
    (campaign $time:literal: $name:ident = $run:expr) => {
        mod $name {
            use super::*;

            #[test]
            #[ignore = $time]
            fn campaign() {
                $run;
            }
        }
    };
}

/// Makes of each case, a function of the backend, one test per backend: `case::on_cpu`, `case::on_exact`,
/// `case::on_gpu`. `case (gpu: long "5 min")` moves the last one to the long tier: `case::on_gpu::long`. `cpu` and
/// `exact` take the same form, in this order.
#[allow(unused_macros)]
macro_rules! on_each_backend {
    ($($case:ident $((
        $(cpu: $cpu_tier:ident $cpu_time:literal,)?
        $(exact: $exact_tier:ident $exact_time:literal,)?
        $(gpu: $gpu_tier:ident $gpu_time:literal)?
    ))?),* $(,)?) => {
        $(mod $case {
            use super::$case as case;
            use carom::Backend;

            tier!($($($cpu_tier $cpu_time:)?)? on_cpu = case(Backend::Cpu));
            tier!($($($exact_tier $exact_time:)?)? on_exact = case(Backend::Exact));
            #[cfg(feature = "gpu")]
            tier!($($($gpu_tier $gpu_time:)?)? on_gpu = case(Backend::Gpu));
        })*
    };
}

/// The same for the two backends that advance by steps, without the exact one.
#[allow(unused_macros)]
macro_rules! on_each_engine {
    ($($case:ident $((
        $(cpu: $cpu_tier:ident $cpu_time:literal,)?
        $(gpu: $gpu_tier:ident $gpu_time:literal)?
    ))?),* $(,)?) => {
        $(mod $case {
            use super::$case as case;
            use carom::Backend;

            tier!($($($cpu_tier $cpu_time:)?)? on_cpu = case(Backend::Cpu));
            #[cfg(feature = "gpu")]
            tier!($($($gpu_tier $gpu_time:)?)? on_gpu = case(Backend::Gpu));
        })*
    };
}
