//! The simplest event finder: all pairs, all images, one clock, textbook roots.
//!
//! The finder uses no cells, no queue and no stored predictions: after every event the search starts again.

use carom::{Impact, Partner, Sphere, System};
use glam::DVec3;

pub struct Naive<'a> {
    pub system: &'a System,
    pub spheres: Vec<Sphere>,
    /// Time of each free sphere's last impact.
    pub contacts: Vec<f64>,
}

impl Naive<'_> {
    /// All events in `start .. start + dt`; moves the spheres to the end.
    pub fn run(&mut self, start: f64, dt: f64) -> Vec<Impact> {
        let mut now = 0.0;
        let mut impacts = vec![];
        while let Some((delay, i, partner, shift)) = self.earliest(dt - now) {
            self.fly(delay);
            now += delay;
            impacts.push(self.resolve_impact(start + now, i, partner, shift));
            assert!(impacts.len() < 100_000, "no end of events");
        }
        self.fly(dt - now);
        impacts
    }

    fn earliest(&self, limit: f64) -> Option<(f64, usize, Partner, DVec3)> {
        let mut best: Option<(f64, usize, Partner, DVec3)> = None;
        let mut take = |time: Option<f64>, i, partner, shift| {
            if let Some(time) = time
                && time < limit
                && best.is_none_or(|b| time < b.0)
            {
                best = Some((time, i, partner, shift));
            }
        };
        let gravity = self.system.gravity;
        for (i, a) in self.spheres.iter().enumerate() {
            for b in &self.spheres[i + 1..] {
                if a.fixed && b.fixed {
                    continue;
                }
                for shift in self.images() {
                    let (d, w) = (a.position - b.position - shift, a.velocity - b.velocity);
                    let acceleration = match (a.fixed, b.fixed) {
                        (false, true) => gravity,
                        (true, false) => -gravity,
                        _ => DVec3::ZERO,
                    };
                    let way = w.length() * limit + acceleration.length() * limit * limit / 2.0;
                    if d.length() > (a.radius + b.radius + way) * 1.001 {
                        continue;
                    }
                    let time = if acceleration == DVec3::ZERO {
                        straight(d, w, a.radius + b.radius)
                    } else {
                        curved(d, w, acceleration, a.radius + b.radius, limit)
                    };
                    take(time, i, Partner::Sphere(b.id), shift);
                }
            }
            if a.fixed {
                continue;
            }
            for (k, plane) in self.system.planes().iter().enumerate() {
                let gap = (a.position - plane.point).dot(plane.normal) - a.radius;
                let time = parabola(gap, a.velocity.dot(plane.normal), gravity.dot(plane.normal));
                take(time, i, Partner::Wall(k as u32), DVec3::ZERO);
            }
        }
        best
    }

    // Two periods in each direction, because spheres are wrapped only at the start of a run.
    fn images(&self) -> Vec<DVec3> {
        let mut images = vec![DVec3::ZERO];
        for axis in 0..3 {
            if let Some(period) = self.system.period(axis) {
                images = images
                    .iter()
                    .flat_map(|&v| (-2..=2).map(move |k| v + DVec3::AXES[axis] * (f64::from(k) * period)))
                    .collect();
            }
        }
        images
    }

    fn fly(&mut self, time: f64) {
        for s in self.spheres.iter_mut().filter(|s| !s.fixed) {
            s.position += s.velocity * time + self.system.gravity * (time * time / 2.0);
            s.velocity += self.system.gravity * time;
        }
    }

    fn resolve_impact(&mut self, time: f64, i: usize, partner: Partner, shift: DVec3) -> Impact {
        let a = self.spheres[i];
        let planes = self.system.planes();
        let (j, b, normal, material) = match partner {
            Partner::Sphere(id) => {
                let j = self.spheres.iter().position(|s| s.id == id).unwrap();
                let b = self.spheres[j];
                (Some(j), b, (a.position - b.position - shift).normalize(), b.material)
            }
            Partner::Wall(k) => {
                let plane = &planes[k as usize];
                let b = Sphere { fixed: true, velocity: DVec3::ZERO, ..a };
                (None, b, plane.normal, plane.material)
            }
        };
        let recent = self.contacts[i].max(j.map_or(f64::NEG_INFINITY, |j| self.contacts[j]));
        let elastic = time - recent < self.system.contact_time();
        let e = if elastic { 1.0 } else { self.system.materials.restitution(a.material, material) };
        let impulse =
            -(1.0 + e) * (a.velocity - b.velocity).dot(normal) / (a.inverse_mass() + b.inverse_mass());
        self.spheres[i].velocity += normal * impulse * a.inverse_mass();
        if let Some(j) = j {
            self.spheres[j].velocity -= normal * impulse * b.inverse_mass();
        }
        // Fixed spheres, like walls, have no time of last contact.
        for k in [Some(i), j].into_iter().flatten().filter(|&k| !self.spheres[k].fixed) {
            self.contacts[k] = time;
        }
        Impact { time, sphere: a.id, partner, point: a.position - normal * a.radius, normal, impulse }
    }
}

// The smaller root of |d + w t| = s.
fn straight(d: DVec3, w: DVec3, s: f64) -> Option<f64> {
    let (a, b, c) = (w.dot(w), d.dot(w), d.dot(d) - s * s);
    let discriminant = b * b - a * c;
    (b < 0.0 && discriminant > 0.0).then(|| ((-b - discriminant.sqrt()) / a).max(0.0))
}

// The time at which gap + v t + a t^2/2 falls to 0.
fn parabola(gap: f64, v: f64, a: f64) -> Option<f64> {
    if a == 0.0 {
        return (v < 0.0).then(|| (-gap / v).max(0.0));
    }
    let discriminant = v * v - 2.0 * a * gap;
    // At this root the speed is -sqrt(discriminant): the gap closes.
    let time = (-v - discriminant.sqrt()) / a;
    (discriminant > 0.0 && (time > 0.0 || v < 0.0)).then_some(time.max(0.0))
}

// The first t at which |d + w t + g t^2/2| falls to s, from 500 samples and a refinement at each minimum.
fn curved(d: DVec3, w: DVec3, g: DVec3, s: f64, limit: f64) -> Option<f64> {
    let gap = |t: f64| (d + w * t + g * (t * t / 2.0)).length() - s;
    if gap(0.0) < 1e-12 && d.dot(w) < 0.0 {
        return Some(0.0);
    }
    let moments = 500;
    let at = |k: i32| limit * f64::from(k) / f64::from(moments);
    for k in 1..=moments {
        let mut low = at(k - 1);
        let mut high = at(k);
        if gap(high) > 0.0 {
            // A minimum between the neighbouring samples that ends before the next sample.
            let (mut left, mut right) = (at(k - 1), at(k + 1));
            if k == moments || gap(high) > gap(left) || gap(high) > gap(right) {
                continue;
            }
            for _ in 0..200 {
                let (a, b) = (left + (right - left) / 3.0, right - (right - left) / 3.0);
                if gap(a) < gap(b) { right = b } else { left = a }
            }
            high = left;
            if gap(high) > 0.0 {
                continue;
            }
        } else if k == 1 && gap(low) < 1e-12 {
            // The spheres have just separated and return within the first interval: only the returning part counts.
            let mut apex = low;
            for m in 1..=1000 {
                let t = high * f64::from(m) / 1000.0;
                if gap(t) > gap(apex) {
                    apex = t;
                }
            }
            low = apex;
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if gap(middle) > 0.0 { low = middle } else { high = middle }
        }
        return Some(high);
    }
    None
}
