//! Section `litmus`: properties of the adapter that the results of carom depend on, and properties in which adapters merely
//! differ.
//!
//! From a reading of the shaders:
//!
//! | property | who depends on it | here |
//! |---|---|---|
//! | a value written to storage is seen by the workgroup after `storageBarrier` | `rest_solve` passes velocities between the invocations of a block, `rounds` passes the state of spheres from pass to pass | failure |
//! | the same through workgroup memory | `scan`, `audit`, `relax` | failure |
//! | the same through storage marked `@coherent` | nothing as yet | figure |
//! | errors of / , sqrt, length and dot within a few ulp | every tolerance of `verify`; the bounds of a time of impact | figure; scales the tolerances of the sections parity and steps; failure above [`MOST_ULP`] |
//! | a product and a sum are fused, or not | nothing: no decision that two shaders share needs equal bits | figure |
//! | the same expression has the same bits in two pipelines | the order of impacts at nearly the same time, and with it the bits of a run, but not whether a run is right | figure |
//! | denormal numbers are kept | nothing: no length or speed is that small | figure |
//! | loads of `vec4f` keep the bits of integers | indices in the buffer `world`, which are read as floats | failure |
//! | infinities and NaN are detected by their bits | the halt on a state that is not finite | failure |
//! | `x - x` of an infinity is NaN, NaN differs from itself | nothing: WGSL allows compilers to assume neither | figure |
//! | the rounding error of a sum survives, if it is hidden from the compiler | `advance`, `rest` and `row` restore energy and momentum by it | failure |
//! | the same without hiding it | nothing | figure |
//! | the correction of an elastic impulse survives | the energy of an elastic gas | failure |

mod arithmetic;
mod barriers;
mod bits;

use super::{Examination, Section, Table, Target, Value};
use crate::Error;

/// Errors beyond this number of units in the last place are no rounding: WGSL allows 2.5 for a quotient, and no more than
/// about 4 for a root.
pub const MOST_ULP: f64 = 16.0;

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    barriers::run(examination, target)?;
    arithmetic::run(examination, target)?;
    bits::run(examination, target)
}

/// Multiple of the usual tolerances that the arithmetic of the adapter needs; none in another section.
pub fn tolerance_scale(section: &Section) -> Option<f64> {
    let table = section.tables.iter().find(|table| table.name == "tolerances")?;
    match table.get("scale")? {
        Value::Number(scale) => Some(*scale),
        _ => None,
    }
}

/// Pseudo-random numbers (SplitMix64), the same on every machine.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0..1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of either sign, with a magnitude between 2^-10 and 2^10, evenly in the exponent.
    fn wide(&mut self) -> f32 {
        let size = (20.0 * self.unit() - 10.0).exp2();
        (if self.next() & 1 == 0 { size } else { -size }) as f32
    }
}
