//! Accuracy and rounding of arithmetic, and sums that a compiler may simplify.

use glam::{DVec3, Vec3};

use super::{Examination, MOST_ULP, Numbers, Table, Target};
use crate::{
    Error,
    doctor::kernel::{Kernel, LANES, storage},
    gpu::shaders::arithmetic_of_impacts,
};

const SHADER: &str = include_str!("../../../shaders/doctor/arithmetic.wgsl");

/// Pseudo-random inputs.
const INPUTS: usize = 1 << 16;

/// Words that the shader leaves for each input.
const OUTPUTS: usize = 10;

/// Largest errors, in units in the last place, that the tolerances of `verify` assume: WGSL allows 2.5 for a quotient, and
/// for a root the error of the inverse of an inverse root. The error of a sum of three products is relative to the sum of
/// their magnitudes.
const ASSUMED: [(&str, f64); 5] =
    [("division", 2.5), ("sqrt", 3.0), ("length", 4.0), ("dot", 3.0), ("inverseSqrt", 3.0)];

/// Share of the sums whose rounding error is not 0: below this, the compiler has left the error out.
const LEAST_SHARE: f64 = 0.2;

pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let context = &target.context;
    let mut numbers = Numbers(1);
    let inputs: Vec<[f32; 8]> = (0..INPUTS).map(|_| std::array::from_fn(|_| numbers.wide())).collect();
    let text = format!(
        "const LANES = {LANES}u;\nconst OUTPUTS = {OUTPUTS}u;\n{}\n{SHADER}",
        arithmetic_of_impacts()
    );
    let run = |entry, inputs: &[[f32; 8]]| -> Result<Vec<[f32; OUTPUTS]>, Error> {
        let words: Vec<u32> = inputs.iter().flatten().map(|x| x.to_bits()).collect();
        let buffer = storage(context, &words)?;
        let kernel = Kernel::new(context, "arithmetic", &text, entry)?;
        let outputs = storage(context, &vec![0; OUTPUTS * INPUTS])?;
        let words = kernel.run(context, &[(0, &buffer), (1, &outputs)], 64)?;
        Ok(words.chunks_exact(OUTPUTS).map(|row| std::array::from_fn(|k| f32::from_bits(row[k]))).collect())
    };
    let (first, second) = (run("arithmetic", &inputs)?, run("product_and_sum", &inputs)?);
    accuracy(examination, &inputs, &first);
    contraction(examination, &inputs, &first, &second);
    sums(examination, &inputs, &first);
    let inputs: Vec<[f32; 8]> = (0..INPUTS).map(|_| head_on(&mut numbers)).collect();
    impulses(examination, &inputs, &run("impacts", &inputs)?);
    Ok(())
}

// Distance between neighbouring f32 at this magnitude.
fn ulp(x: f64) -> f64 {
    let exponent = x.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor();
    (exponent - 23.0).exp2()
}

fn wide(input: &[f32; 8]) -> [f64; 8] {
    input.map(f64::from)
}

// Largest and mean error of each operation, and the scale of the tolerances that follows.
fn accuracy(examination: &mut Examination, inputs: &[[f32; 8]], found: &[[f32; OUTPUTS]]) {
    let mut errors = [[0.0_f64; 2]; ASSUMED.len()];
    for (input, found) in inputs.iter().zip(found) {
        let [ax, ay, az, _, bx, by, bz, _] = wide(input);
        let products = [ax * bx, ay * by, az * bz];
        let magnitude = products.iter().map(|x| x.abs()).sum::<f64>();
        let (length, root) = ((ax * ax + ay * ay + az * az).sqrt(), ay.abs().sqrt());
        for (k, (exact, place, unit)) in [
            (ax / bx, 0, ulp(ax / bx)),
            (root, 1, ulp(root)),
            (length, 2, ulp(length)),
            (products.iter().sum(), 3, ulp(magnitude)),
            (1.0 / root, 5, ulp(1.0 / root)),
        ]
        .into_iter()
        .enumerate()
        {
            let error = (f64::from(found[place]) - exact).abs() / unit;
            let error = if error.is_finite() { error } else { f64::INFINITY };
            errors[k] = [errors[k][0].max(error), errors[k][1] + error / INPUTS as f64];
        }
    }
    let mut table = Table::new("accuracy", &["operation", "largest_ulp", "mean_ulp", "assumed_ulp"]);
    let mut scale = 1.0_f64;
    for ((operation, assumed), [largest, mean]) in ASSUMED.into_iter().zip(errors) {
        table.row(vec![operation.into(), largest.into(), mean.into(), assumed.into()]);
        examination.expect(largest <= MOST_ULP, || {
            format!("the error of {operation} reaches {largest:.1} units in the last place")
        });
        scale = scale.max(largest / assumed);
    }
    examination.table(table);
    let scale = scale.min(MOST_ULP);
    examination.table(Table::record("tolerances", vec![("scale", scale.into())]));
    if scale > 1.0 {
        examination.note(format!(
            "the arithmetic of the adapter is less accurate than the tolerances assume: they are {scale:.2} times as large"
        ));
    }
}

// Whether a product and a sum are fused, and whether two pipelines agree.
fn contraction(
    examination: &mut Examination,
    inputs: &[[f32; 8]],
    first: &[[f32; OUTPUTS]],
    second: &[[f32; OUTPUTS]],
) {
    let [mut fused, mut separate, mut other, mut differ] = [0_u64; 4];
    for ((input, first), second) in inputs.iter().zip(first).zip(second) {
        let (a, b, c) = (input[0], input[5], input[2]);
        let (with, without) = (a.mul_add(b, c), a * b + c);
        let found = first[4];
        if with != without {
            fused += u64::from(found == with);
            separate += u64::from(found == without);
        }
        other += u64::from(found != with && found != without);
        let bits = [found, second[0], second[1]].map(f32::to_bits);
        differ += u64::from(bits[0] != bits[1] || bits[0] != bits[2]);
    }
    examination.table(Table::record(
        "contraction",
        vec![
            ("fused", fused.into()),
            ("separate", separate.into()),
            ("neither", other.into()),
            ("differ_between_pipelines", differ.into()),
        ],
    ));
    if differ > 0 {
        examination.note(format!(
            "a product and a sum have other bits in another pipeline for {differ} of {INPUTS} inputs: runs are \
             reproducible only as far as the driver compiles the shaders alike"
        ));
    }
}

// Rounding errors of sums, plain and hidden from the compiler.
fn sums(examination: &mut Examination, inputs: &[[f32; 8]], found: &[[f32; OUTPUTS]]) {
    let mut table = Table::new("rounding_errors", &["form", "right", "zero", "expected_zero", "needed"]);
    for (form, place, is_needed) in [
        ("((a + b) - a) - b, plain", 6, false),
        ("((a + b) - a) - b, hidden", 7, true),
        ("two-sum, plain", 8, false),
        ("two-sum, hidden", 9, true),
    ] {
        let [mut right, mut zero, mut expected_zero] = [0_u64; 3];
        for (input, found) in inputs.iter().zip(found) {
            let (a, b) = (input[0], input[3]);
            let sum = a + b;
            let expected = if place < 8 { (sum - a) - b } else { (a - (sum - (sum - a))) + (b - (sum - a)) };
            right += u64::from(found[place] == expected);
            zero += u64::from(found[place] == 0.0);
            expected_zero += u64::from(expected == 0.0);
        }
        table.row(vec![form.into(), right.into(), zero.into(), expected_zero.into(), is_needed.into()]);
        let lost = zero.saturating_sub(expected_zero) as f64 / (INPUTS as u64 - expected_zero) as f64;
        examination.expect(!is_needed || lost < LEAST_SHARE, || {
            format!("the compiler deletes the rounding error of a sum that is hidden from it ({form})")
        });
        examination.expect(!is_needed || right == INPUTS as u64, || {
            format!("{form}: wrong for {} of {INPUTS} inputs", INPUTS as u64 - right)
        });
    }
    examination.table(table);
}

// Centres at a distance of about 1 that approach head-on: there the error of the impulse changes the energy most.
fn head_on(numbers: &mut Numbers) -> [f32; 8] {
    let d = Vec3::new(numbers.wide(), numbers.wide(), numbers.wide()).normalize();
    let w = -d * numbers.wide().abs();
    [d.x, d.y, d.z, 0.0, w.x, w.y, w.z, 0.0]
}

// The energy error of an elastic impulse, compared with the same arithmetic on the processor with and without the
// correction that makes the error small.
fn impulses(examination: &mut Examination, inputs: &[[f32; 8]], found: &[[f32; OUTPUTS]]) {
    let [mut device, mut with, mut without] = [Errors::default(), Errors::default(), Errors::default()];
    for (input, found) in inputs.iter().zip(found) {
        let [d, w] = [0, 4].map(|at| Vec3::new(input[at], input[at + 1], input[at + 2]));
        device.add(w, Vec3::new(found[0], found[1], found[2]));
        with.add(w, impulse(d, w, true));
        without.add(w, impulse(d, w, false));
    }
    let [device, with, without] = [device.rms(), with.rms(), without.rms()];
    examination.table(Table::record(
        "elastic_impulse",
        vec![
            ("energy_error", device.into()),
            ("with_correction_on_cpu", with.into()),
            ("without_correction_on_cpu", without.into()),
        ],
    ));
    let limit = (with * without).sqrt();
    examination.expect(device <= limit, || {
        format!(
            "an elastic impulse changes the energy by {device:.2e} of itself (cpu: {with:.2e}, without its correction \
             {without:.2e}): the compiler deletes the correction, and the energy of a gas drifts"
        )
    });
}

// The function of shaders/shared/impact_response.wgsl for a restitution of 1.
fn impulse(d: Vec3, w: Vec3, is_corrected: bool) -> Vec3 {
    let d = d * 1.5;
    let b = d.dot(w);
    let mut k = 2.0 * (b / d.dot(d));
    if is_corrected {
        let u = d * k;
        k -= (u.dot(u) * 0.5 - u.dot(w)) / b;
    }
    d * -k
}

/// Relative energy errors.
#[derive(Default)]
struct Errors {
    count: u64,
    squares: f64,
}

impl Errors {
    fn add(&mut self, w: Vec3, change: Vec3) {
        let before = w.as_dvec3().length_squared();
        let after: DVec3 = w.as_dvec3() + change.as_dvec3();
        self.count += 1;
        self.squares += ((after.length_squared() - before) / before).powi(2);
    }

    fn rms(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}
