//! Behaviour of the window for a user.

use crate::{
    driver::{Picture, Viewer, view},
    scenes::{GAS, ROW, RUNAWAY},
};

// Centre and radius (pixels) of the middle sphere of ROW, in a window with a hidden panel.
fn middle(picture: &Picture) -> (u32, u32, f64) {
    let slope = (15.0f64).to_radians().tan();
    // In perspective the outline is slightly wider than the radius.
    let radius = 0.5 * f64::from(picture.height) / slope * 1.5 / (900.0f64 - 2.25).sqrt();
    (picture.width / 2, picture.height / 2, radius)
}

fn apart(a: [u8; 3], b: [u8; 3]) -> i32 {
    (0..3).map(|k| i32::from(a[k].abs_diff(b[k]))).sum()
}

#[test]
fn a_window_opens_draws_the_spheres_and_closes_with_0() {
    let mut viewer = Viewer::open(ROW, &["--paused"]);
    viewer.press("h");
    viewer.expect("panel");
    let picture = viewer.picture();
    assert_eq!((picture.width, picture.height), (800, 600));
    let text = |key: &str| picture.texts.iter().find(|(k, _)| k == key).map(|(_, t)| t.as_str());
    assert_eq!((text("Scene"), text("Seed")), (Some("scene.toml"), Some("11")));
    assert_eq!(text("Software"), Some(concat!("carom ", env!("CARGO_PKG_VERSION"))));
    // The outline is at the right place: the sphere inside, the background outside.
    let (x, y, radius) = middle(&picture);
    let at = |factor: f64, angle: f64| {
        let offset = |part: f64| (factor * radius * part).round() as i64;
        picture
            .pixel((i64::from(x) + offset(angle.cos())) as u32, (i64::from(y) - offset(angle.sin())) as u32)
    };
    for angle in [2.0f64, 2.6, 0.9] {
        let (inside, outside) = (at(0.93, angle), at(1.07, angle));
        assert!(apart(inside, outside) > 30, "at {angle}: {inside:?} inside, {outside:?} outside");
    }
    let (status, stderr) = viewer.close();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn it_pauses_steps_shoots_changes_colour_and_starts_again() {
    let mut viewer = Viewer::open(GAS, &["--backend", "cpu"]);
    let count = |event: &serde_json::Value, name: &str| event[name].as_u64().expect("a number");
    viewer.press("space");
    let paused = viewer.expect("paused");
    assert!(count(&paused, "step") > 0, "it did not run: {paused}");
    viewer.press("period");
    let stepped = viewer.expect("stepped");
    viewer.press("period");
    let again = viewer.expect("stepped");
    assert_eq!(count(&again, "step"), count(&stepped, "step") + 1, "{stepped} {again}");
    let before = viewer.picture();
    assert!(before.difference(&viewer.picture()) < 0.01, "a picture of what stands still changes");
    viewer.press("c");
    assert_ne!(viewer.expect("colour")["colour"], "speed");
    let coloured = viewer.picture();
    assert!(before.difference(&coloured) > 0.02, "another colour looks the same");
    viewer.point(540, 300);
    viewer.press("b");
    let shot = viewer.expect("shot");
    assert_eq!((count(&shot, "id"), count(&shot, "spheres")), (300, 301));
    viewer.press("space");
    viewer.expect("resumed");
    viewer.press("r");
    let reset = viewer.expect("reset");
    assert_eq!(count(&reset, "spheres"), 300, "{reset}");
    viewer.press("question");
    viewer.expect("help");
    viewer.press("f");
    viewer.expect("framed");
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn a_click_inspects_the_sphere_under_it() {
    let mut viewer = Viewer::open(ROW, &["--paused", "--backend", "exact"]);
    viewer.press("h");
    viewer.expect("panel");
    viewer.point(400, 300);
    viewer.click();
    let picked = viewer.expect("picked");
    assert_eq!((&picked["id"], &picked["position"]), (&1.into(), &serde_json::json!([0.0, 0.0, 0.0])));
    // The small sphere is a neighbour, 0.4 from the surface; the large ones are too far.
    assert_eq!(picked["neighbours"], 1, "{picked}");
    // No sphere is at this point.
    viewer.point(400, 60);
    viewer.click();
    assert_eq!(viewer.expect("picked")["id"], serde_json::Value::Null);
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn a_drag_orbits_and_the_wheel_zooms() {
    let mut viewer = Viewer::open(ROW, &["--paused"]);
    viewer.press("h");
    viewer.expect("panel");
    let before = viewer.picture();
    viewer.drag("1", [500, 400], [380, 340]);
    let orbited = viewer.picture();
    assert!(before.difference(&orbited) > 0.02, "a drag changes nothing");
    viewer.point(400, 300);
    (0..5).for_each(|_| viewer.scroll());
    let zoomed = viewer.picture();
    assert!(orbited.difference(&zoomed) > 0.02, "the wheel changes nothing");
    // After five notches the sphere fills the middle of the picture.
    let (x, y, radius) = middle(&zoomed);
    let inside = zoomed.pixel(x - (1.3 * radius) as u32, y);
    let outside = zoomed.pixel(4, 4);
    assert!(apart(inside, outside) > 30, "{inside:?} {outside:?}");
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn it_survives_another_size_and_being_hidden() {
    let mut viewer = Viewer::open(GAS, &["--backend", "cpu"]);
    viewer.press("h");
    viewer.expect("panel");
    for (width, height) in [(500, 700), (901, 333)] {
        viewer.resize(width, height);
        let resized = viewer.expect("resized");
        assert_eq!((&resized["width"], &resized["height"]), (&width.into(), &height.into()));
        let picture = viewer.picture();
        assert_eq!((picture.width, picture.height), (width, height));
    }
    viewer.hide_and_show();
    let picture = viewer.picture();
    assert_eq!((picture.width, picture.height), (901, 333));
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn being_watched_costs_the_device_no_wait() {
    let mut viewer = Viewer::open(GAS, &["--backend", "gpu"]);
    let number = |event: &serde_json::Value, name: &str| event[name].as_u64().expect("a number");
    // The panel does not concern the worker, and each key press logs an event with figures.
    let start = viewer.look();
    let mut steady = start.clone();
    // The first steps may find buffers too small.
    while number(&steady, "step") < number(&start, "step") + 30 {
        steady = viewer.look();
    }
    let mut later = steady.clone();
    while number(&later, "step") < number(&steady, "step") + 50 {
        later = viewer.look();
    }
    assert!(number(&later, "frames") > number(&steady, "frames") + 1, "nobody watched: {steady} {later}");
    assert_eq!(later["backend"], "gpu");
    assert_eq!(later["blocking_reads"], steady["blocking_reads"], "{steady} {later}");
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn a_run_that_fails_leaves_the_window_open() {
    let mut viewer = Viewer::open(RUNAWAY, &["--backend", "cpu", "--paused"]);
    viewer.press("space");
    viewer.expect("resumed");
    let failed = viewer.expect("failed");
    assert!(failed["message"].as_str().unwrap().contains("sphere 0"), "{failed}");
    viewer.press("r");
    assert_eq!(viewer.expect("reset")["step"], 0);
    viewer.picture();
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn without_a_display_one_line_names_the_command_that_needs_none() {
    let folder = tempfile::tempdir().unwrap();
    for display in [None, Some(":4177")] {
        let mut command = view(&folder, &["cradle"]);
        if let Some(display) = display {
            command.env("DISPLAY", display);
        }
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains("`carom render cradle`") && stderr.contains("display"), "{stderr}");
    }
    // Scene errors are reported first, because a display would not solve them.
    let output = view(&folder, &["no-such-scene"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
