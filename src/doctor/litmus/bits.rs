//! Bit patterns that are no ordinary numbers.

use super::{Examination, Numbers, Table, Target};
use crate::{
    Error,
    doctor::kernel::{Kernel, LANES, storage, words},
    gpu::shaders::tests_of_numbers,
};

const SHADER: &str = include_str!("../../../shaders/doctor/bits.wgsl");

/// Rows of four words.
const ROWS: usize = 4096;

pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let context = &target.context;
    let mut numbers = Numbers(2);
    // Indices: small integers are denormal numbers as floats. Then every kind of pattern.
    let mut rows: Vec<u32> = (0..2 * ROWS as u32).collect();
    rows.extend((0..2 * ROWS).map(|_| numbers.next() as u32));
    let specials = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, -0.0, f32::MAX];
    let special_rows = specials.map(|x| [x.to_bits(), 0, 1.0_f32.to_bits(), 0]);
    rows[..4 * specials.len()].copy_from_slice(special_rows.as_flattened());
    let text = format!("const LANES = {LANES}u;\n{}\n{SHADER}", tests_of_numbers());
    let kernel = Kernel::new(context, "bits", &text, "bits")?;
    let input = storage(context, &rows)?;
    let copies = storage(context, &vec![0; rows.len()])?;
    let outputs = storage(context, &vec![0; 3 * rows.len()])?;
    let groups = (ROWS as u32).div_ceil(LANES);
    let found = kernel.run(context, &[(0, &input), (1, &copies), (2, &outputs)], groups)?;
    let copies = words(context, &copies)?;
    let count = |changed: &dyn Fn(usize) -> bool| (0..rows.len()).filter(|&k| changed(k)).count();
    // A NaN has many patterns, of which no integer of carom is one: indices stay far below.
    let is_nan = |k: usize| f32::from_bits(rows[k]).is_nan();
    let loads = count(&|k| !is_nan(k) && found[12 * (k / 4) + k % 4] != rows[k]);
    let stores = count(&|k| !is_nan(k) && copies[k] != rows[k]);
    let mut wrong_tests = 0_u64;
    for (k, row) in rows.chunks_exact(4).enumerate() {
        let finite: Vec<bool> = row[..3].iter().map(|&word| f32::from_bits(word).is_finite()).collect();
        let tests = &found[12 * k + 8..][..2];
        let expected = [finite[0], finite.iter().all(|&x| x)].map(u32::from);
        wrong_tests += u64::from(tests != expected);
    }
    let half_of_least = found[12 * 3 + 5];
    let infinite = f32::from_bits(found[6]);
    let nan_equals_itself = found[12 * 2 + 10] != 0;
    examination.table(Table::record(
        "bits",
        vec![
            ("integers_read_as_floats", rows.len().into()),
            ("changed_by_a_load", loads.into()),
            ("changed_by_a_load_and_a_store", stores.into()),
            ("wrong_tests_of_finite_numbers", wrong_tests.into()),
            ("keeps_denormals", (half_of_least != 0).into()),
            ("infinity_minus_itself_is_nan", infinite.is_nan().into()),
            ("nan_equals_itself", nan_equals_itself.into()),
        ],
    ));
    examination.expect(loads == 0, || {
        format!("{loads} of {} integers change if they are read as floats from storage", rows.len())
    });
    examination.expect(wrong_tests == 0, || {
        format!("{wrong_tests} rows: infinities and NaN are not told from finite numbers by their bits")
    });
    Ok(())
}
