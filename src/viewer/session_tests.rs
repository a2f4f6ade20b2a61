//! Tests of the commands that the window sends, executed without a window.

use glam::DVec3;

use super::{
    command::{Command, News},
    grab::Ray,
    history::{MOST, MOST_BYTES},
    launcher::Shot,
    session::Session,
};
use crate::{
    Backend, Error, Options, Sphere,
    render::Clip,
    scene::{Fill, Placed, Scene},
};

fn session(scene: Scene, options: Options) -> Session {
    let system = scene.build().unwrap();
    Session::new("a scene", scene, system, options, true).unwrap()
}

// A small gas with walls around it, and gravity.
fn gas() -> Session {
    let scene = Scene::new(1.0 / 60.0)
        .seed(5)
        .walled()
        .gravity([0.0, 0.0, -1.0])
        .fill(Fill::random(200).volume_fraction(0.1).temperature(3.0));
    session(scene, Options::default())
}

fn energy(session: &Session) -> f64 {
    let gravity = session.simulation.system().gravity;
    let of = |s: &Sphere| s.mass * (0.5 * s.velocity.length_squared() - gravity.dot(s.position));
    session.simulation.spheres().iter().map(of).sum()
}

fn steps(session: &mut Session, count: usize) {
    for _ in 0..count {
        assert_eq!(session.obey(Command::Step), News::Stepped);
    }
}

#[test]
fn it_stands_still_and_goes_on_as_asked() {
    let mut session = gas();
    assert!(!session.is_running());
    assert_eq!(session.obey(Command::Pause(false)), News::Paused(false));
    assert!(session.is_running());
    // A single step leaves the simulation paused.
    steps(&mut session, 1);
    assert_eq!((session.simulation.steps(), session.is_running()), (1, false));
    assert_eq!((session.figures.points.len(), session.figures.impacts > 0), (1, true));
}

#[test]
fn a_reset_goes_back_to_the_very_start() {
    let mut session = gas();
    let hash = session.simulation.state_hash();
    steps(&mut session, 3);
    session.obey(Command::Restitution(0.2));
    session.obey(Command::Dt(0.001));
    let shot = Shot {
        eye: DVec3::splat(-9.0),
        direction: DVec3::splat(3f64.sqrt().recip()),
        radius: 0.3,
        speed: 9.0,
    };
    assert_eq!(session.obey(Command::Shoot(shot)), News::Shot(200));
    steps(&mut session, 2);
    assert_ne!(session.simulation.state_hash(), hash);
    let world = session.world;
    assert_eq!(session.obey(Command::Reset), News::Reset);
    assert_eq!((session.simulation.steps(), session.simulation.sphere_count()), (0, 200));
    assert_eq!(session.simulation.state_hash(), hash);
    assert_eq!(session.simulation.system().materials.restitution(0, 0), 1.0);
    assert!((session.simulation.system().dt - 1.0 / 60.0).abs() < 1e-15 && session.world > world);
}

// Largest difference of a position, a velocity or a spin.
fn farthest(session: &Session, state: &[Sphere]) -> f64 {
    let present = session.simulation.spheres();
    assert_eq!(present.len(), state.len());
    let apart = |(a, b): (&Sphere, &Sphere)| {
        let [p, v, w] = [a.position - b.position, a.velocity - b.velocity, a.spin - b.spin];
        p.length().max(v.length()).max(w.length())
    };
    present.iter().zip(state).map(apart).fold(0.0, f64::max)
}

#[test]
fn steps_can_be_taken_back_and_again() {
    let context = crate::gpu::Context::open(None).expect("an adapter");
    for backend in [Backend::Cpu, Backend::Gpu, Backend::Exact] {
        let options = Options { backend, context: Some(context.clone()), ..Options::default() };
        let mut session = session(gas().scene, options);
        let mut states = vec![session.simulation.spheres()];
        let mut hashes = vec![session.simulation.state_hash()];
        for _ in 0..4 {
            steps(&mut session, 1);
            states.push(session.simulation.spheres());
            hashes.push(session.simulation.state_hash());
        }
        let (time, impacts) = (session.simulation.time(), session.simulation.summary().pair_impacts);
        for step in [3, 2] {
            assert_eq!(session.obey(Command::Back), News::Back);
            assert_eq!((session.simulation.steps(), session.is_running()), (step, false));
            assert!(farthest(&session, &states[step as usize]) < 1e-5, "{backend:?}, step {step}");
            let is_equal = session.simulation.state_hash() == hashes[step as usize];
            assert!(backend == Backend::Gpu || is_equal, "{backend:?}, step {step}");
            assert!(farthest(&session, &states[step as usize + 1]) > 1e-3);
        }
        assert!((session.simulation.time() - 0.5 * time).abs() < 1e-12);
        assert!(session.simulation.summary().pair_impacts < impacts);
        assert!(session.figures.points.iter().all(|point| point.time <= session.simulation.time()));
        // The way forward is the same each time.
        steps(&mut session, 2);
        let again = session.simulation.state_hash();
        // On the host a state is complete, and the way forward is that of the first time.
        assert!(backend == Backend::Gpu || again == hashes[4], "{backend:?}");
        (0..2).for_each(|_| assert_eq!(session.obey(Command::Back), News::Back));
        steps(&mut session, 2);
        assert_eq!((session.simulation.state_hash(), session.simulation.steps()), (again, 4), "{backend:?}");
        assert_eq!(session.simulation.time(), time);
        (0..4).for_each(|_| assert_eq!(session.obey(Command::Back), News::Back));
        assert!(farthest(&session, &states[0]) < 1e-5, "{backend:?}");
        let refused = session.obey(Command::Back);
        assert!(matches!(&refused, News::Refused(text) if text.contains("the start")), "{refused:?}");
    }
}

#[test]
fn a_step_back_undoes_edits_and_failures() {
    let mut session = gas();
    steps(&mut session, 2);
    let state = session.simulation.spheres();
    session.obey(Command::Gravity(DVec3::X));
    let shot = Shot { eye: DVec3::new(-40.0, 5.0, 5.0), direction: DVec3::X, radius: 0.8, speed: 60.0 };
    assert_eq!(session.obey(Command::Shoot(shot)), News::Shot(200));
    steps(&mut session, 1);
    session.fail(Error::Invalid("a failure".to_owned()));
    assert_eq!(session.obey(Command::Back), News::Back);
    assert_eq!((session.simulation.sphere_count(), session.failed.clone()), (200, None));
    assert_eq!(session.simulation.system().gravity, -DVec3::Z);
    assert_eq!(session.simulation.steps(), 2);
    assert!(farthest(&session, &state) < 1e-5);
    steps(&mut session, 1);
    // On another backend too.
    session.obey(Command::Backend(Backend::Exact));
    assert_eq!(session.obey(Command::Back), News::Back);
    assert_eq!((session.simulation.steps(), session.simulation.backend()), (2, Backend::Exact));
    assert!(farthest(&session, &state) < 1e-5);
}

#[test]
fn kept_states_stay_within_their_bounds() {
    let mut session = gas();
    let each = session.history.extent(1).1;
    assert!(each >= 200 * size_of::<Sphere>(), "{each}");
    for _ in 0..MOST + 50 {
        steps(&mut session, 1);
    }
    let (back, bytes) = session.history.extent(session.simulation.steps());
    assert_eq!(back, MOST - 1);
    assert!(bytes <= MOST_BYTES && bytes >= MOST * 200 * size_of::<Sphere>(), "{bytes}");
    (0..MOST - 1).for_each(|_| assert_eq!(session.obey(Command::Back), News::Back));
    let refused = session.obey(Command::Back);
    assert!(matches!(&refused, News::Refused(text) if text.contains("no earlier state")), "{refused:?}");
    assert_eq!(session.simulation.steps(), 51);
}

#[test]
fn a_shot_is_a_sphere_that_strikes_others() {
    let mut session = gas();
    let before = energy(&session);
    let shot = Shot { eye: DVec3::new(-40.0, 5.0, 5.0), direction: DVec3::X, radius: 0.8, speed: 60.0 };
    assert_eq!(session.obey(Command::Shoot(shot)), News::Shot(200));
    let sphere = session.simulation.spheres()[200];
    assert!((sphere.velocity - DVec3::X * 60.0).length() < 1e-9);
    let brought = sphere.mass * (0.5 * 3600.0 + sphere.position.z);
    assert!((energy(&session) / (before + brought) - 1.0).abs() < 1e-9);
    steps(&mut session, 20);
    assert!(session.simulation.spheres()[200].velocity.length() < 59.0, "it struck nothing");
    assert!((energy(&session) / (before + brought) - 1.0).abs() < 1e-5);
    // A value that does not fit is refused and changes nothing.
    let hash = session.simulation.state_hash();
    let refused = session.obey(Command::Shoot(Shot { radius: 1e3, ..shot }));
    assert!(matches!(&refused, News::Refused(text) if text.contains("no room")), "{refused:?}");
    assert_eq!(session.simulation.state_hash(), hash);
}

#[test]
fn a_grabbed_sphere_goes_where_it_is_pulled_and_keeps_its_velocity_when_let_go() {
    let placed = Placed { position: DVec3::ZERO, ..Placed::default() };
    let held = Placed { position: DVec3::Z * 5.0, fixed: true, ..Placed::default() };
    let scene = Scene::new(0.01).gravity([0.0, 0.0, -10.0]).fill(Fill::at([placed, held]));
    let mut session = session(scene, Options::default());
    let ray = |x: f64, z: f64| {
        let from = DVec3::new(0.0, -20.0, 0.0);
        Ray { from, direction: (DVec3::new(x, 0.0, z) - from).normalize(), forward: DVec3::Y }
    };
    let clip = Some(Clip { normal: DVec3::Y, offset: -1.0 });
    assert_eq!(session.obey(Command::Grab { ray: ray(0.0, 0.0), clip }), News::Grabbed(None));
    let refused = session.obey(Command::Grab { ray: ray(0.0, 5.0), clip: None });
    assert!(matches!(&refused, News::Refused(text) if text.contains("held in place")), "{refused:?}");
    assert_eq!(session.obey(Command::Grab { ray: ray(0.2, 0.0), clip: None }), News::Grabbed(Some(0)));
    // It is held against gravity, and does not overshoot.
    session.obey(Command::Pull(ray(3.2, 1.0)));
    for _ in 0..60 {
        steps(&mut session, 1);
        let sphere = session.simulation.spheres()[0];
        assert!(sphere.position.x < 3.001 && sphere.position.z < 1.001, "{sphere:?}");
    }
    let sphere = session.simulation.spheres()[0];
    assert!((sphere.position - DVec3::new(3.0, 0.0, 1.0)).length() < 1e-2, "{sphere:?}");
    session.obey(Command::Pull(ray(9.0, 1.0)));
    steps(&mut session, 2);
    let thrown = session.simulation.spheres()[0].velocity;
    assert_eq!(session.obey(Command::Release), News::Released);
    steps(&mut session, 10);
    let sphere = session.simulation.spheres()[0];
    assert!(thrown.x > 10.0 && (sphere.velocity.x - thrown.x).abs() < 1e-4, "{thrown} {sphere:?}");
    assert!((sphere.velocity.z - thrown.z + 1.0).abs() < 1e-4, "{thrown} {sphere:?}");
}

#[test]
fn gpu_and_cpu_are_compared_from_the_same_state() {
    let mut session = gas();
    let refused = session.obey(Command::Compare(true));
    assert!(matches!(&refused, News::Refused(text) if text.contains("gpu, not cpu")), "{refused:?}");
    steps(&mut session, 3);
    session.obey(Command::Backend(Backend::Gpu));
    assert_eq!(session.obey(Command::Compare(true)), News::Compared(true));
    let largest = |session: &Session| {
        let latest = &session.comparison.as_ref().expect("a comparison").latest;
        (latest.steps, latest.largest.expect("spheres").0)
    };
    assert!(largest(&session).0 == 0 && largest(&session).1 < 1e-6, "{:?}", largest(&session));
    steps(&mut session, 2);
    // A few impacts do not make rounding visible.
    assert!(largest(&session).0 == 2 && largest(&session).1 < 1e-4, "{:?}", largest(&session));
    let twin = &session.comparison.as_ref().unwrap().twin;
    assert_eq!((twin.steps(), twin.time()), (session.simulation.steps(), session.simulation.time()));
    assert_eq!(twin.backend(), Backend::Cpu);
    // A difference that is there is found.
    let impulse = DVec3::X * 10.0;
    session.comparison.as_mut().unwrap().twin.apply_impulse(5, impulse).unwrap();
    steps(&mut session, 1);
    let latest = &session.comparison.as_ref().unwrap().latest;
    assert!(latest.largest.is_some_and(|(distance, id)| id == 5 && distance > 0.01), "{latest:?}");
    // An edit starts the comparison again with the edited state, and another backend ends it.
    session.obey(Command::Gravity(DVec3::X));
    assert!(largest(&session).0 == 0 && largest(&session).1 < 1e-6);
    steps(&mut session, 1);
    assert!(largest(&session).1 < 1e-4);
    session.obey(Command::Backend(Backend::Exact));
    assert!(session.comparison.is_none());
}

#[test]
fn the_backend_may_change_on_the_way_and_energy_stays() {
    let mut session = gas();
    steps(&mut session, 4);
    let (start, time) = (energy(&session), session.simulation.time());
    for (backend, so_far) in [(Backend::Exact, 4), (Backend::Gpu, 9), (Backend::Cpu, 14)] {
        assert_eq!(session.obey(Command::Backend(backend)), News::Switched(backend));
        assert_eq!((session.simulation.backend(), session.simulation.steps()), (backend, so_far));
        steps(&mut session, 5);
        assert!(
            (energy(&session) / start - 1.0).abs() < 1e-5,
            "{backend:?}: {start} became {}",
            energy(&session)
        );
    }
    assert!((session.simulation.time() - time - 15.0 / 60.0).abs() < 1e-9);
    // The stages are timed on request, and the run continues.
    session.obey(Command::Backend(Backend::Gpu));
    assert_eq!(session.obey(Command::Profile(true)), News::Changed);
    assert!(session.is_profiled());
    steps(&mut session, 1);
    assert_eq!(session.figures.stage_seconds.len(), crate::step::schedule::STAGES.len());
    assert_eq!(session.simulation.steps(), 20);
}

#[test]
fn the_world_may_change_but_not_into_nonsense() {
    let mut session = gas();
    steps(&mut session, 1);
    assert_eq!(session.obey(Command::Gravity(DVec3::X)), News::Changed);
    assert_eq!(session.obey(Command::Restitution(0.5)), News::Changed);
    assert_eq!(session.obey(Command::Dt(0.01)), News::Changed);
    let system = session.simulation.system();
    assert_eq!((system.gravity, system.dt, system.materials.restitution(0, 0)), (DVec3::X, 0.01, 0.5));
    for wrong in [Command::Restitution(1.5), Command::Dt(-1.0), Command::Gravity(DVec3::NAN)] {
        let refused = session.obey(wrong.clone());
        assert!(matches!(refused, News::Refused(_)), "{wrong:?}: {refused:?}");
    }
    assert_eq!(session.simulation.system().dt, 0.01);
    steps(&mut session, 1);
    assert!((session.simulation.time() - 1.0 / 60.0 - 0.01).abs() < 1e-12);
}

#[test]
fn other_scenes_are_loaded_by_name_and_the_first_one_again() {
    let mut session = gas();
    assert!(matches!(session.obey(Command::Load("cradle".to_owned())), News::Loaded(_)));
    assert_eq!((session.name.as_str(), session.simulation.sphere_count()), ("cradle", 5));
    let refused = session.obey(Command::Load("no such".to_owned()));
    assert!(matches!(&refused, News::Refused(text) if text.contains("no such")), "{refused:?}");
    assert_eq!(session.simulation.sphere_count(), 5);
    assert!(matches!(session.obey(Command::Load("a scene".to_owned())), News::Loaded(_)));
    assert_eq!(session.simulation.sphere_count(), 200);
}

#[test]
fn a_sphere_is_inspected_until_it_is_forgotten() {
    let mut session = gas();
    let target = session.simulation.spheres()[17];
    // From just outside the target no other sphere is in between, and the ray leaves the sphere that it starts in.
    let outside = target.position - DVec3::X * (target.radius + 1e-3);
    let picked = session.obey(Command::Pick { from: outside, direction: DVec3::X, clip: None });
    let News::Picked(Some(found)) = picked else { panic!("{picked:?}") };
    assert_eq!((found.sphere.id, session.inspected), (17, Some(17)));
    steps(&mut session, 1);
    let News::Picked(Some(later)) = session.obey(Command::Look) else { panic!("it is there still") };
    assert_eq!(later.time, session.simulation.time());
    assert_ne!(later.sphere.position, found.sphere.position);
    // A sphere that the clip plane hides is not hit.
    let from = later.sphere.position - DVec3::X * (target.radius + 1e-3);
    let clip = Some(Clip { normal: DVec3::NEG_X, offset: -later.sphere.position.x - 1e-9 });
    let picked = session.obey(Command::Pick { from, direction: DVec3::X, clip: None });
    assert!(matches!(&picked, News::Picked(Some(found)) if found.sphere.id == 17), "{picked:?}");
    let picked = session.obey(Command::Pick { from, direction: DVec3::X, clip });
    assert!(!matches!(&picked, News::Picked(Some(found)) if found.sphere.id == 17), "{picked:?}");
    assert_eq!(session.obey(Command::Forget), News::Picked(None));
    assert_eq!(session.inspected, None);
    let away = Command::Pick { from: from + DVec3::Y * 1e4, direction: DVec3::Y, clip: None };
    assert_eq!(session.obey(away), News::Picked(None));
}

#[test]
fn a_failure_is_said_and_a_reset_goes_on() {
    // Faster than any backend can follow.
    let runaway = Placed { velocity: DVec3::X * 1e30, ..Placed::default() };
    let other = Placed { position: DVec3::new(3.0, 0.1, 0.0), ..Placed::default() };
    let scene = Scene::new(0.5).fill(Fill::at([runaway, other]));
    let mut session = session(scene, Options::default());
    session.obey(Command::Pause(false));
    let failed = session.obey(Command::Step);
    assert!(matches!(failed, News::Failed(_)), "{failed:?}");
    assert!(!session.is_running() && session.failed.is_some());
    let refused = session.obey(Command::Step);
    assert!(matches!(&refused, News::Refused(text) if text.contains("R goes back")), "{refused:?}");
    assert_eq!(session.obey(Command::Reset), News::Reset);
    assert_eq!(session.failed, None);
}

#[test]
fn a_lost_device_is_a_failure_for_good() {
    let context = crate::gpu::Context::open(None).expect("an adapter");
    let options = Options { backend: Backend::Gpu, context: Some(context.clone()), ..Options::default() };
    let scene = Scene::new(0.01).periodic().fill(Fill::random(100).volume_fraction(0.1).temperature(1.0));
    let mut session = session(scene, options);
    steps(&mut session, 1);
    context.report_lost("the cable was pulled");
    for command in [Command::Step, Command::Frame { from: DVec3::X, up: DVec3::Z }] {
        let failed = session.obey(command);
        assert!(!matches!(failed, News::Stepped | News::Framed(_)), "{failed:?}");
    }
    assert!(
        matches!(&session.failed, Some(Error::DeviceLost(text)) if text.contains("the cable was pulled"))
    );
}
