use carom::*;
use glam::DVec3;
use rand::{RngExt, SeedableRng};
fn main() {
    let a: Vec<f64> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let get = |k: usize, d: f64| a.get(k).copied().unwrap_or(d);
    let (side, layers, steps, e, mu, d) =
        (get(0, 40.), get(1, 20.), get(2, 300.), get(3, 0.3), get(4, 0.5), get(5, 1.0));
    let mut rng = rand_pcg::Pcg64::seed_from_u64(1);
    let mut s = System { gravity: -9.81 * DVec3::Z, ..System::default() };
    s.materials = Materials::empty();
    s.materials.add(
        "grain",
        Surface { restitution: e, friction: mu, ..Surface::default() },
        6.0 / std::f64::consts::PI,
    );
    let gap = 1.1 * d;
    let l = side * gap;
    s.bounds = Bounds {
        min: DVec3::ZERO,
        max: DVec3::new(l, l, 2.0 * layers * gap),
        sides: [Side::Wall; 3],
        material: 0,
    };
    let mut id = 0;
    for k in 0..layers as i32 {
        for j in 0..side as i32 {
            for i in 0..side as i32 {
                let mut r = || 0.02 * d * (rng.random::<f64>() - 0.5);
                let p = DVec3::new(
                    (i as f64 + 0.5) * gap + r(),
                    (j as f64 + 0.5) * gap + r(),
                    (k as f64 + 1.0) * gap + r(),
                );
                s.spheres.push(Sphere {
                    id,
                    position: p,
                    radius: 0.5 * d,
                    mass: d * d * d,
                    ..Sphere::default()
                });
                id += 1;
            }
        }
    }
    let mut sim = Simulation::new(
        s,
        Options { backend: Backend::Cpu, threads: get(6, 2.0) as usize, ..Options::default() },
    )
    .unwrap();
    let t0 = std::time::Instant::now();
    let (mut tsub, mut timp, mut tr, mut deep, mut st, mut last) =
        (0u64, 0u64, 0u64, 0.0f64, vec![0.0f64; 12], 0.0);
    for k in 1..=steps as u64 {
        let r = sim.step().unwrap();
        tsub += u64::from(r.substeps);
        timp += r.pair_impacts + r.wall_impacts;
        tr += u64::from(r.rounds);
        deep = deep.max(r.deepest_overlap);
        for (a, b) in st.iter_mut().zip(&r.stage_seconds) {
            *a += b;
        }
        if k % (steps as u64 / 20).max(1) == 0 {
            let now = t0.elapsed().as_secs_f64();
            let n = (steps as u64 / 20).max(1) as f64;
            println!(
                "t {:.2} ms/step {:.1} sub {:.1} impacts {:.0} rounds {:.1} deep {deep:.4} ke/n {:.2e} redone {} late {} unres {} fast {} | {}",
                r.time,
                (now - last) * 1e3 / n,
                tsub as f64 / n,
                timp as f64 / n,
                tr as f64 / n,
                r.kinetic_energy / id as f64,
                r.redone,
                r.late,
                r.unresolved,
                r.fast,
                carom::stages::STAGES
                    .iter()
                    .zip(&st)
                    .map(|(s, t)| format!("{} {:.1}", s.name, t * 1e3 / n))
                    .collect::<Vec<_>>()
                    .join(" ")
            );
            (tsub, timp, tr, deep, last) = (0, 0, 0, 0.0, now);
            st.fill(0.0);
        }
    }
    println!(
        "total {:.1} s, {:.1} ms/step",
        t0.elapsed().as_secs_f64(),
        t0.elapsed().as_secs_f64() * 1e3 / steps
    );
}
