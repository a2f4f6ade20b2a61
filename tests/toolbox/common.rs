//! Seeded property tests, and vectors of any type from plain numbers.

use carom::toolbox::{Scalar, Still, Vector};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// Seed of every property in this binary; a failure prints the seed and the smallest case found.
pub const SEED: u64 = 0x5eed_0002;

pub type Outcome = Result<(), TestCaseError>;

/// Tests a property on `cases` draws from `strategy`, identical in every run.
pub fn property<T: Strategy>(cases: u32, strategy: T, test: impl Fn(T::Value) -> Outcome) {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(SEED),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    if let Err(error) = TestRunner::new(config).run(&strategy, test) {
        panic!("seed {SEED:#x}: {error}");
    }
}

/// Three components in -1..1; 2D vectors use two.
pub fn cube() -> impl Strategy<Value = [f64; 3]> {
    [-1.0..1.0, -1.0..1.0, -1.0..1.0]
}

pub fn vector<V: Vector>(from: [f64; 3]) -> V {
    V::from_axes(|axis| V::Scalar::from_f64(from[axis]))
}

pub fn scalar<V: Vector>(from: f64) -> V::Scalar {
    V::Scalar::from_f64(from)
}

pub fn still<V: Vector>(position: [f64; 3], radius: f64) -> Still<V> {
    Still { position: vector(position), radius: scalar::<V>(radius) }
}

/// Components as `f64`, without rounding; z is 0 in 2D.
pub fn wide<V: Vector>(v: V) -> [f64; 3] {
    std::array::from_fn(|axis| if axis < V::DIMENSIONS { v.axis(axis).to_f64() } else { 0.0 })
}

pub fn epsilon<V: Vector>() -> f64 {
    V::Scalar::EPSILON.to_f64()
}

pub fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Runs a generic test in 2D and 3D in both precisions.
macro_rules! for_every_vector {
    ($($name:ident => $test:ident;)*) => {$(
        #[test]
        fn $name() {
            $test::<glam::Vec2>();
            $test::<glam::Vec3>();
            $test::<glam::DVec2>();
            $test::<glam::DVec3>();
        }
    )*};
}
pub(crate) use for_every_vector;

/// A small generator for bulk measurements, where the property-test machinery would dominate. SplitMix64 (Steele, Lea,
/// Flood 2014).
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in -1..1.
    pub fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Uniform in 0..1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform on the unit sphere or circle.
    pub fn direction(&mut self, dimensions: usize) -> [f64; 3] {
        loop {
            let mut v = [self.signed(), self.signed(), self.signed()];
            if dimensions == 2 {
                v[2] = 0.0;
            }
            let l = length(v);
            if (0.1..1.0).contains(&l) {
                return v.map(|x| x / l);
            }
        }
    }
}
