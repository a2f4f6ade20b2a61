use carom::*;
use glam::DVec3;
use rand::{RngExt, SeedableRng};
fn main() {
    let a: Vec<f64> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let get = |k: usize, d: f64| a.get(k).copied().unwrap_or(d);
    let (layers, side, e, mu, off, hstar, tmax, gap) = (
        get(0, 50.),
        get(1, 4.),
        get(2, 0.5),
        get(3, 0.5),
        get(4, 0.),
        get(5, 0.0),
        get(6, 90.),
        get(7, 1.25),
    );
    let mut rng = rand_pcg::Pcg64::seed_from_u64(1);
    let mut s = System { gravity: -DVec3::Z, dt: 0.05, ..System::default() };
    if hstar > 0.0 {
        s.solver.substeps = (0.05f64 / hstar).ceil() as u32;
    }
    s.materials = Materials::empty();
    s.materials.add(
        "grain",
        Surface { restitution: e, friction: mu, ..Surface::default() },
        6.0 / std::f64::consts::PI,
    );
    let l = side * gap;
    s.bounds = Bounds {
        min: DVec3::new(off, off, 0.),
        max: DVec3::new(off + l, off + l, 1.5 * layers * gap),
        sides: [Side::Periodic, Side::Periodic, Side::Wall],
        material: 0,
    };
    let mut id = 0;
    for k in 0..layers as i32 {
        for j in 0..side as i32 {
            for i in 0..side as i32 {
                let mut r = || 0.1 * (rng.random::<f64>() - 0.5);
                let p = DVec3::new(
                    off + (i as f64 + 0.5) * gap + r(),
                    off + (j as f64 + 0.5) * gap + r(),
                    (k as f64 + 0.5) * gap + 0.5 + r(),
                );
                let radius = 0.5 * (1.0 + 0.2 * (rng.random::<f64>() - 0.5));
                s.spheres.push(Sphere {
                    id,
                    position: p,
                    radius,
                    mass: 8.0 * radius * radius * radius,
                    ..Sphere::default()
                });
                id += 1;
            }
        }
    }
    let n = id as f64;
    let mut sim = Simulation::new(s, Options { backend: Backend::Cpu, ..Options::default() }).unwrap();
    let com = |sim: &Simulation| {
        sim.spheres().iter().map(|s| s.position * s.mass).sum::<DVec3>()
            / sim.spheres().iter().map(|s| s.mass).sum::<f64>()
    };
    let (mut tsub, mut timp, mut trounds) = (0u64, 0u64, 0u64);
    let (mut deep, mut deep_rest, mut ke_rest, mut rounds_rest, mut start) =
        (0.0f64, 0.0f64, 0.0f64, 0u32, DVec3::ZERO);
    let t0 = std::time::Instant::now();
    let e0 = sim.summary().total_energy;
    let mut lost = 0.0;
    let (mut subs, mut imps, mut maxsub) = (0u64, 0u64, 0u32);
    let mut st = vec![0.0; 12];
    let steps = (tmax / 0.05) as u64;
    for k in 1..=steps {
        let r = sim.step().unwrap().clone();
        tsub += u64::from(r.substeps);
        timp += r.pair_impacts + r.wall_impacts;
        trounds += u64::from(r.rounds);
        lost += r.dissipated - r.relax_work;
        subs += r.substeps as u64;
        imps += r.pair_impacts + r.wall_impacts;
        maxsub = maxsub.max(r.substeps);
        for (a, b) in st.iter_mut().zip(&r.stage_seconds) {
            *a += b;
        }
        let t = r.time;
        if t < tmax * 2.0 / 3.0 {
            deep = deep.max(r.deepest_overlap);
            start = com(&sim);
        } else {
            deep_rest = deep_rest.max(r.deepest_overlap);
            ke_rest = ke_rest.max(r.kinetic_energy / n);
            rounds_rest = rounds_rest.max(r.rounds);
        }
        if k % (steps / 18).max(1) == 0 {
            println!(
                "t {t:6.2} sub {} ke/n {:.3e} deep {:.4} impacts {} rounds {} late {} unres {} stop {} redone {} fast {} ledger {:.2e} wall {:.1}",
                r.substeps,
                r.kinetic_energy / n,
                r.deepest_overlap,
                r.pair_impacts + r.wall_impacts,
                r.rounds,
                r.late,
                r.unresolved,
                r.stopped,
                r.redone,
                r.fast,
                (r.kinetic_energy + r.potential_energy + lost - e0) / lost.abs().max(1e-9),
                t0.elapsed().as_secs_f64()
            );
        }
    }
    let mut f: Vec<_> = sim.spheres();
    f.sort_by(|a, b| {
        (b.velocity.length() + 0.5 * b.spin.length())
            .total_cmp(&(a.velocity.length() + 0.5 * a.spin.length()))
    });
    for s in &f[..3] {
        println!("{} {:.3} v {:?} w {:?}", s.id, s.position, s.velocity, s.spin);
    }
    println!("substeps {tsub} impacts {timp} rounds {trounds} wall {:.1}", t0.elapsed().as_secs_f64());
    println!(
        "falling {deep:.4} rest {deep_rest:.5} ke {ke_rest:.2e} rounds {rounds_rest} drift {:.2e} top {:.3}",
        (com(&sim) - start).length(),
        com(&sim).z
    );
}
