//! Grains under gravity. Lengths are in mean diameters and times in sqrt(d/g).

mod column;
mod drum;
mod galton;
mod hopper;
mod janssen;
mod packing;
mod repose;

use super::Case;

/// The cases of the group, in the order of the report.
pub const CASES: &[&Case] = &[
    &packing::CASE,
    &hopper::CASE,
    &janssen::CASE,
    &column::CASE,
    &repose::CASE,
    &drum::CASE,
    &galton::CASE,
];

/// Rough grains.
const GRAIN: &str = "[materials.default]\nrestitution = 0.3\nfriction = 0.5\nrolling_friction = 0.02\ntwisting_friction = 0.02\n";

/// A base like sandpaper: round grains in contact with it do not roll far.
const BASE: &str = "[materials.base]\n\n[[pairs]]\nbetween = [\"default\", \"base\"]\nrestitution = 0.3\nfriction = 0.5\n\
                    rolling_friction = 0.3\ntwisting_friction = 0.3\n";

/// Two sizes, so that grains do not order.
const SIZES: &str = "diameters = [[0.9, 0.5], [1.1, 0.5]]";

/// Volume of a mean grain of [`SIZES`].
const VOLUME: f64 = std::f64::consts::PI / 6.0 * 0.5 * (0.729 + 1.331);

/// Time step.
const DT: f64 = 0.05;

/// The table `world` of a scene.
fn world(steps: u64, seed: u64) -> String {
    format!("[world]\ngravity = [0, 0, -1]\ndt = {DT}\nsteps = {steps}\nseed = {seed}\n\n")
}

/// A cylinder about the z axis from `z` = 0, filled at random with loose grains; the wall stays until a time.
fn filled_cylinder(radius: f64, count: u64, until: Option<f64>) -> String {
    // A volume fraction of 0.3 in the part that the centres can reach.
    let height = (count as f64 * VOLUME / (0.3 * std::f64::consts::PI * (radius - 0.3).powi(2))).ceil();
    let until = until.map_or(String::new(), |time| format!("until = {time}\n"));
    format!(
        "[[walls]]\nname = \"cylinder\"\ncylinder = {{ from = [0, 0, 0], to = [0, 0, {height}], radius = {radius} }}\n{until}\n\
         [[spheres]]\nrandom = {{ count = {count}, {SIZES}, min = [{low}, {low}, 0], max = [{radius}, {radius}, {height}] }}\n\
         inside = \"cylinder\"\n\n",
        low = -radius,
    )
}

/// Slope and intercept of the straight line through points, by least squares.
fn line_through(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let slope = covariance / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    (slope, y - slope * x)
}
