//! The command without arguments.

use crate::harness::Place;

tier!(long "17 s": without_arguments_marbles_come_to_rest_in_a_tray);
fn without_arguments_marbles_come_to_rest_in_a_tray() {
    let ran = Place::new().carom(&[]).expect(0);
    assert!(ran.stdout.contains("marbles: 3 000 spheres") || ran.stdout.contains("marbles: 20 000 spheres"));
    assert!(ran.stdout.contains("Try next"), "{}", ran.stdout);
    let kinetic = ran.stdout.lines().find_map(|line| line.strip_prefix("energy    kinetic ")).unwrap();
    let kinetic: f64 = kinetic.split(',').next().unwrap().parse().unwrap();
    assert!(kinetic < 1e-3, "{kinetic} J are left");
}
