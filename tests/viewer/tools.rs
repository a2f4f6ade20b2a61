//! Tools of the window: steps back, clip plane, forces, grab, film.

use serde_json::Value;

use crate::{
    driver::Viewer,
    scenes::{GAS, HEAP, ROW},
};

fn count(event: &Value, name: &str) -> u64 {
    event[name].as_u64().unwrap_or_else(|| panic!("{name} of {event}"))
}

#[test]
fn a_step_back_shows_the_picture_of_before() {
    for backend in ["cpu", "gpu"] {
        let mut viewer = Viewer::open(GAS, &["--paused", "--backend", backend]);
        let pictures = [0, 1, 2].map(|step| {
            for _ in 0..if step > 0 { 15 } else { 0 } {
                viewer.press("period");
                viewer.expect("stepped");
            }
            viewer.picture()
        });
        let moved = pictures[0].difference(&pictures[1]);
        assert!(moved > 0.03, "{backend}: only {moved} of the picture moves");
        for (step, picture) in [(15, &pictures[1]), (0, &pictures[0])] {
            for back in (step..step + 15).rev() {
                viewer.press("comma");
                assert_eq!(count(&viewer.expect("back"), "step"), back);
            }
            let seen = viewer.picture().difference(picture);
            // Colours may differ slightly: the automatic range shrinks from picture to picture.
            assert!(seen < 0.01, "{backend}: {seen} of the picture differs after the way back to {step}");
        }
        viewer.press("comma");
        assert!(viewer.expect("refused")["message"].as_str().unwrap().contains("the start"));
        viewer.press("period");
        assert_eq!(count(&viewer.expect("stepped"), "step"), 1);
        assert_eq!(viewer.close().0.code(), Some(0));
    }
}

#[test]
fn the_clip_plane_opens_the_view_and_the_hidden_spheres_cannot_be_clicked() {
    let mut viewer = Viewer::open(ROW, &["--paused", "--backend", "cpu"]);
    viewer.press("h");
    viewer.expect("panel");
    let before = viewer.picture();
    // x, in the middle: the camera is level with the middle, so that the upper half is hidden.
    viewer.press("x");
    assert_eq!(viewer.expect("clip")["clip"], "x");
    viewer.press("bracketright");
    assert!(viewer.expect("clip")["clip_part"].as_f64().unwrap() > 0.5);
    let clipped = viewer.picture();
    // Two large spheres and a small one are gone.
    let hidden = before.difference(&clipped);
    assert!((0.03..0.06).contains(&hidden), "{hidden}");
    viewer.point(400, 300);
    viewer.click();
    assert_eq!(viewer.expect("picked")["id"], Value::Null);
    (0..2).for_each(|_| {
        viewer.press("bracketleft");
        viewer.expect("clip");
    });
    viewer.click();
    assert_eq!(viewer.expect("picked")["id"], 1);
    for axis in ["y", "z", "view", "off"] {
        viewer.press("x");
        assert_eq!(viewer.expect("clip")["clip"], axis);
    }
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn forces_are_drawn_as_lines() {
    for backend in ["cpu", "gpu"] {
        let mut viewer = Viewer::open(HEAP, &["--paused", "--backend", backend]);
        viewer.press("h");
        viewer.expect("panel");
        for _ in 0..5 {
            viewer.press("period");
            viewer.expect("stepped");
        }
        // Colours with a range that does not shrink from picture to picture.
        viewer.press("c");
        assert_eq!(viewer.expect("colour")["colour"], "radius");
        let before = viewer.picture();
        viewer.press("n");
        assert_eq!(viewer.expect("chains")["chains"], true);
        // The worker sends the contacts with one of the next pictures.
        viewer.expect("changed");
        let mut seen = 0.0;
        for _ in 0..25 {
            seen = before.difference(&viewer.picture());
            if seen >= 0.002 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        assert!((0.002..0.1).contains(&seen), "{backend}: {seen} of the picture shows forces");
        viewer.press("n");
        viewer.expect("changed");
        assert!(before.difference(&viewer.picture()) < 0.001, "{backend}");
        assert_eq!(viewer.close().0.code(), Some(0));
    }
}

#[test]
fn a_grabbed_sphere_follows_the_mouse() {
    let scene = GAS.replace("count = 300", "count = 30");
    let mut viewer = Viewer::open(&scene.replace("temperature = 1.0", ""), &["--backend", "cpu"]);
    viewer.press("h");
    viewer.expect("panel");
    // Finds a sphere.
    let mut at = None;
    for (x, y) in (0..9).flat_map(|i| (0..7).map(move |j| (160 + 60 * i, 120 + 60 * j))) {
        viewer.point(x, y);
        viewer.click();
        let picked = viewer.expect("picked");
        if picked["id"] != Value::Null {
            at = Some(([x, y], picked));
            break;
        }
    }
    let (from, picked) = at.expect("a sphere in the picture");
    let before = viewer.picture();
    let grabbed = viewer.drag_with("ctrl", from, [from[0] + 80, from[1] + 40], ["grabbed", "released"]);
    assert_eq!(grabbed["id"], picked["id"]);
    // The camera stands still, and the sphere has moved.
    assert!((0.001..0.3).contains(&before.difference(&viewer.picture())));
    viewer.point(from[0], from[1]);
    viewer.click();
    assert_ne!(viewer.expect("picked")["id"], picked["id"], "it is where it was");
    assert_eq!(viewer.close().0.code(), Some(0));
}

#[test]
fn a_film_shows_what_the_window_shows() {
    let mut viewer = Viewer::open(GAS, &["--backend", "cpu"]);
    viewer.press("v");
    viewer.expect("recording");
    // Each of these waits for at least one picture.
    (0..8).for_each(|_| drop(viewer.picture()));
    viewer.press("v");
    let recorded = viewer.expect("recorded");
    let name = recorded["file"].as_str().unwrap().to_owned();
    assert_eq!(name, "carom-scene-0001.gif");
    let file = std::fs::File::open(viewer.path(&name)).unwrap();
    let mut reader = gif::DecodeOptions::new().read_info(file).unwrap();
    let mut delays = vec![];
    while let Some(frame) = reader.read_next_frame().unwrap() {
        delays.push(f64::from(frame.delay) / 100.0);
    }
    assert_eq!(delays.len() as u64, count(&recorded, "film_frames"));
    let (seconds, total) = (recorded["film_seconds"].as_f64().unwrap(), delays.iter().sum::<f64>());
    assert!(delays.len() >= 2 && total <= seconds + 0.2, "{total} of {seconds}: {delays:?}");
    // Another size of the picture ends a film.
    viewer.press("v");
    viewer.expect("recording");
    viewer.picture();
    viewer.look();
    assert_eq!(viewer.expect("recorded")["file"], "carom-scene-0002.gif");
    // A film that is being recorded when the window closes is complete.
    viewer.press("v");
    viewer.expect("recording");
    viewer.picture();
    let path = viewer.path("carom-scene-0003.gif");
    viewer.press("ctrl+q");
    viewer.expect("recorded");
    assert!(path.exists());
    assert_eq!(viewer.wait().code(), Some(0));
}

#[test]
fn gpu_and_cpu_are_compared() {
    let mut viewer = Viewer::open(GAS, &["--paused", "--backend", "gpu"]);
    viewer.press("k");
    assert_eq!(viewer.expect("compared")["on"], true);
    for _ in 0..3 {
        viewer.press("period");
        viewer.expect("stepped");
    }
    let with = viewer.picture();
    viewer.press("k");
    assert_eq!(viewer.expect("compared")["on"], false);
    assert!(with.difference(&viewer.picture()) > 0.02, "differences have the colours of speeds");
    viewer.press("space");
    viewer.expect("resumed");
    viewer.press("k");
    viewer.expect("compared");
    let start = count(&viewer.look(), "step");
    while count(&viewer.look(), "step") < start + 3 {}
    assert_eq!(viewer.close().0.code(), Some(0));
}
