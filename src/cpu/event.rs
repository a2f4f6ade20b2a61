//! The next event of a sphere, and the input that all stages of a round share.

use std::ops::Range;

use crate::state::constants::{
    CREEP, CROWDED_CONTACTS, CROWDED_PATH, DEEP, DEEPENED, HELD_CONTACTS, LATE_PATH, MOST_HITS, SIDE_SHIFT,
    WALL, wall_of,
};
use glam::{IVec3, Vec3, Vec3A};

use crate::{
    cpu::{
        bits::{Bits, Pressed},
        constraints::ContactConstraints,
        fast::DynamicCandidates,
        neighbors::Lists,
        sleep::Sleep,
    },
    state::{
        columns::Columns,
        constants::wall_bit,
        frame::Frame,
        grid::{CODES, Grid},
    },
    walls::world::World,
};

/// Motion of a sphere in view of the sleep timers.
#[derive(PartialEq)]
pub enum Unrest {
    /// Moves or was struck: keeps the spheres around it awake.
    Moves,
    /// Moves slowly, or its spin changes in place: keeps only itself awake.
    Creeps,
    None,
}

/// The earliest impact of a sphere in the substep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time of impact from the start of the substep; infinite for none.
    pub toi: f32,
    /// Index of the other sphere, or of a wall with [`WALL`] set: planes first, then wall features.
    pub partner: u32,
    /// Image of the partner: a candidate code, or [`CODES`] + the index of a dynamic candidate.
    pub link: u32,
    /// Bound on the velocity change of this sphere in the impact.
    pub delta_v_bound: f32,
}

/// Partner of a contact constraint on one side of a wall.
#[inline]
pub fn side_partner(wall: usize, side: u32) -> u32 {
    WALL | side << SIDE_SHIFT | wall as u32
}

impl Event {
    pub const NONE: Self = Self { toi: f32::INFINITY, partner: u32::MAX, link: 0, delta_v_bound: 0.0 };

    #[inline]
    pub fn is_some(&self) -> bool {
        self.toi < f32::INFINITY
    }

    /// The wall, if the partner is one: planes first, then wall features.
    #[inline]
    pub fn wall(&self) -> Option<usize> {
        (self.partner & WALL != 0 && self.is_some()).then_some((self.partner & !WALL) as usize)
    }
}

/// Deepening of two surfaces in the course of a substep; negative for a gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deepening {
    /// At the clock of the partners.
    pub now: f32,
    /// At the end of the substep, without further impacts.
    pub ahead: f32,
}

impl Deepening {
    /// Whether velocities drive the surfaces deep into each other.
    #[inline]
    pub fn deepens(self) -> bool {
        self.ahead > DEEP && self.ahead - self.now.max(0.0) > DEEPENED
    }
}

/// Inputs of the stages of a round.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub grid: &'a Grid,
    pub world: &'a World,
    pub state: Columns<'a>,
    pub lists: &'a Lists,
    pub dynamic_candidates: &'a DynamicCandidates,
    pub shifts: &'a [Vec3; 32],
    pub frame: Frame,
    /// Time of each sphere's position and motion, from the start of the substep.
    pub clock: &'a [f32],
    /// Plane that supports the sphere, plus 1; 0 = none.
    pub support: &'a [u8],
    /// Resting contacts. A slow approach of their partners is not an impact.
    pub constraints: &'a ContactConstraints,
    /// Spheres of pairs that became resting contacts in the substep.
    pub converted: &'a Bits,
    /// Time of the substep during which contact constraints support each sphere.
    pub rested: &'a [f32],
    /// Pressed contacts of each sphere before the sweep; many of one that squeezes a much lighter sphere in the rounds.
    pub pressed: &'a Pressed,
    pub sleep: &'a Sleep,
}

impl View<'_> {
    /// Calls `visit(j, link, shift)` for every sphere that `i` could meet. `shift` is the vector from the cell
    /// of `i` to that of the image of `j`.
    #[inline]
    pub fn for_candidates(&self, i: usize, mut visit: impl FnMut(usize, u32, Vec3)) {
        self.any_candidate(i, |j, link, shift| {
            visit(j, link, shift);
            false
        });
    }

    /// Whether `is_wanted` accepts any of the arguments of [`for_candidates`](Self::for_candidates); stops at the first.
    #[inline]
    pub fn any_candidate(&self, i: usize, mut is_wanted: impl FnMut(usize, u32, Vec3) -> bool) -> bool {
        self.lists.of(i).iter().any(|candidate| {
            let code = candidate.code();
            is_wanted(candidate.index(), code, self.shifts[code as usize])
        }) || self.dynamic_candidates.of(i).any(|(place, dynamic)| {
            is_wanted(dynamic.other as usize, CODES + place, self.grid.shift(dynamic.cells))
        })
    }

    /// Calls `visit` with the spheres of a range that could meet a wall, and perhaps with others.
    #[inline]
    pub fn for_near_walls(&self, range: Range<usize>, visit: impl FnMut(usize)) {
        let near = self.lists.near_walls();
        match self.dynamic_candidates.fast() {
            Some(fast) => near.for_members_of_either(fast, range, visit),
            None => near.for_members(range, visit),
        }
    }

    /// Whether a contact constraint can hold a pair; `partner` may be a wall with [`WALL`] set. Candidate lists may
    /// lack walls that a fast sphere meets.
    #[inline]
    pub fn is_counted(&self, i: usize, partner: u32) -> bool {
        if partner & WALL == 0 {
            return true;
        }
        let wall = wall_of(partner);
        match wall.checked_sub(self.world.walls.len()) {
            Some(feature) => self.lists.features(i).contains(&(feature as u32)),
            None => self.lists.walls(i) & wall_bit(wall) != 0,
        }
    }

    /// Whether a pair became a resting contact in the substep: it collided too often, in a crowd or late. `partner` may be a wall with
    /// [`WALL`] set.
    #[inline]
    pub fn is_converted(&self, i: usize, partner: u32) -> bool {
        self.converted.contains(i)
            && (partner & WALL != 0 || self.converted.contains(partner as usize))
            && self.lists.hits(i, partner) > MOST_HITS
            && self.is_counted(i, partner)
    }

    /// Whether a converted pair has no impact: at this approach speed, or because it also collided since.
    #[inline]
    pub fn is_held(&self, i: usize, partner: u32, approach: f32, diameter: f32) -> bool {
        self.is_converted(i, partner)
            && (approach * self.frame.h <= CROWDED_PATH * diameter
                || self.lists.hits(i, partner) > MOST_HITS + 1)
    }

    /// Converts an impact in a crowd to a resting contact; true if it was converted. In a crowd an impulse spreads over many
    /// contacts at once, so the order of impacts has no physical meaning. Balls that roll on a table are not in a crowd. A sphere that
    /// squeezes a much lighter one is. A
    /// [late](Self::is_late) impact is converted wherever it happens, unless the path until the end of the substep is too long.
    pub fn converts_crowded(
        &self,
        i: usize,
        partner: u32,
        (approach, toi, is_late): (f32, f32, bool),
        diameter: f32,
    ) -> bool {
        let other = (partner & WALL == 0).then_some(partner as usize);
        let are_pressed = || match other.filter(|&j| self.state.inverse_mass(j) > 0.0) {
            Some(j) => are_crowded(self.pressed.spheres(i), self.pressed.spheres(j)),
            None => self.pressed.spheres(i) >= HELD_CONTACTS,
        };
        let h = self.frame.h;
        let is_crowded = self.world.rests
            && if is_late {
                let radius_sum = if other.is_some() { diameter } else { 0.5 * diameter };
                approach * (h - toi) <= LATE_PATH * radius_sum
            } else {
                approach * h <= CROWDED_PATH * diameter && are_pressed()
            };
        if !is_crowded || !self.loses_energy(i, partner) || !self.is_counted(i, partner) {
            return false;
        }
        if self.lists.convert(i, partner) {
            self.converted.insert(i);
            other.into_iter().for_each(|j| self.converted.insert(j));
            return true;
        }
        false
    }

    // Whether impacts of a pair lose energy, by their restitution.
    fn loses_energy(&self, i: usize, partner: u32) -> bool {
        let theirs = if partner & WALL == 0 {
            self.state.material(partner as usize).into()
        } else {
            let wall = wall_of(partner);
            self.feature(wall).map_or_else(|| self.world.walls[wall].material, |feature| feature.material)
        };
        self.world.surface(self.state.material(i).into(), theirs).restitution < 1.0
    }

    /// Whether an impact of surfaces with this gap is out of order: they overlap, unless the contact solver left the overlap. It
    /// did if a partner is supported, or if the impact is at the start of the substep.
    #[inline]
    pub fn is_late(&self, i: usize, partner: u32, toi: f32, gap: f32) -> bool {
        let is_supported = |k: usize| self.rested[k] > 0.0;
        let is_left_by_contacts = || {
            self.world.rests
                && (toi == 0.0 || is_supported(i) || (partner & WALL == 0 && is_supported(partner as usize)))
        };
        -gap > self.world.slop && !is_left_by_contacts()
    }

    /// Whether a contact can move a sphere: it is neither fixed nor asleep.
    #[inline]
    pub fn yields(&self, i: usize) -> bool {
        self.state.inverse_mass(i) > 0.0 && !self.sleep.contains(i)
    }

    /// How a sphere's motion at the end of the substep affects the sleep timers. `has_turned` says whether contacts have changed its spin.
    #[inline]
    pub fn unrest(&self, i: usize, has_turned: bool) -> Unrest {
        let speed = self.state.velocity(i).length_squared();
        let rim = (self.state.spin[i].truncate() * self.state.radius(i)).length_squared();
        let slow = self.world.sleep_speed * self.world.sleep_speed;
        let fast = CREEP * CREEP * slow;
        if self.rested[i] <= 0.0
            || self.lists.is_near_moving_wall(i)
            || self.state.spin[i].w >= -self.frame.h
            || speed > fast
            || rim > fast && speed > slow
        {
            Unrest::Moves
        } else if speed > slow || rim > slow && has_turned {
            Unrest::Creeps
        } else {
            Unrest::None
        }
    }

    /// Whether a sphere keeps its spin when it falls asleep.
    #[inline]
    pub fn spins(&self, i: usize) -> bool {
        self.world.is_fast(self.state.spin[i].truncate() * self.state.radius(i))
    }

    /// Shift vector of a link.
    #[inline]
    pub fn shift(&self, link: u32) -> Vec3 {
        if link < CODES {
            self.shifts[link as usize]
        } else {
            self.grid.shift(self.dynamic_candidates.get(link - CODES).cells)
        }
    }

    /// Offset of sphere `i` at time `t` in the falling frame.
    #[inline]
    pub fn offset_at(&self, i: usize, t: f32) -> Vec3 {
        self.state.offset(i) + self.state.velocity(i) * (t - self.clock[i])
    }

    /// Centre and velocity of `i` relative to `j` at the later of their clocks, and that time.
    ///
    /// Exchanging i and j runs the same operations on negated values. IEEE rounding is symmetric in sign, so both
    /// partners get identical bits.
    #[inline]
    pub fn relative(&self, i: usize, j: usize, shift: Vec3) -> (Vec3, Vec3, f32) {
        let t = self.clock[i].max(self.clock[j]);
        let d = (self.offset_at(i, t) - self.offset_at(j, t)) - shift;
        (d, self.state.velocity(i) - self.state.velocity(j), t)
    }

    /// `relative` in the lab frame, including a fixed sphere, which the falling frame passes.
    #[inline]
    pub fn in_lab(&self, i: usize, j: usize, shift: Vec3) -> (Vec3, Vec3, f32) {
        let (d, w, t) = self.relative(i, j, shift);
        if self.state.inverse_mass(j) != 0.0 && self.state.inverse_mass(i) != 0.0 {
            return (d, w, t);
        }
        let g = if self.state.inverse_mass(j) == 0.0 { self.world.gravity } else { -self.world.gravity };
        (d + g * (0.5 * t * t), w + g * t, t)
    }

    /// Deepening of two spheres, in mean diameters.
    #[inline]
    pub fn overlap_ahead(&self, i: usize, j: usize, shift: Vec3) -> Deepening {
        let (d, w, t) = self.in_lab(i, j, shift);
        let left = self.frame.h - t;
        let mut end = d + w * left;
        if self.state.inverse_mass(j) == 0.0 {
            end += self.world.gravity * (0.5 * left * left);
        } else if self.state.inverse_mass(i) == 0.0 {
            end -= self.world.gravity * (0.5 * left * left);
        }
        let radius_sum = self.state.radius(i) + self.state.radius(j);
        Deepening { now: 1.0 - d.length() / radius_sum, ahead: 1.0 - end.length() / radius_sum }
    }

    /// Whether velocities drive two spheres deep into each other.
    #[inline]
    pub fn deepens(&self, i: usize, j: usize, code: u32) -> bool {
        // Two spheres that were stopped count as fixed, and only the first one then falls.
        let (i, j, code) = if i < j { (i, j, code) } else { (j, i, CODES - 1 - code) };
        self.overlap_ahead(i, j, self.shifts[code as usize]).deepens()
    }

    /// Deepening of a sphere and a plane, in diameters.
    #[inline]
    pub fn overlap_of_wall_ahead(&self, i: usize, plane: usize) -> Deepening {
        let (gap, v) = super::sweep::wall_gap(self, i, plane);
        let left = self.frame.h - self.clock[i];
        if !self.world.walls[plane].there {
            return Deepening::default();
        }
        let end = gap + v * left + 0.5 * self.world.walls[plane].acceleration * left * left;
        let diameter = 2.0 * self.state.radius(i);
        Deepening { now: -gap / diameter, ahead: -end / diameter }
    }

    /// Whether the overlap at the end of the substep is at most `depth`, decided from squares with a small margin;
    /// false if undecided or if one of the two is fixed.
    #[inline(always)]
    pub fn stays_clear(&self, i: usize, j: usize, shift: Vec3A, depth: f32) -> bool {
        let Self { state, clock, .. } = self;
        let (place, motion) = (state.place[i], state.motion[i]);
        let (other, theirs) = (state.place[j], state.motion[j]);
        if motion.w == 0.0 || theirs.w == 0.0 {
            return false;
        }
        let t = clock[i].max(clock[j]);
        let here = place + motion * (t - clock[i]);
        let there = other + theirs * (t - clock[j]);
        let d = Vec3A::from_vec4(here - there) - shift;
        let end = d + Vec3A::from_vec4(motion - theirs) * (self.frame.h - t);
        let near = (1.0 - depth) * (place.w + other.w);
        end.length_squared() > near * near * (1.0 + 1e-5)
    }

    /// Vector from a plane's point to the centre of sphere `i` at its clock, in the lab frame.
    #[inline]
    pub fn wall_to(&self, plane: usize, i: usize) -> Vec3 {
        let wall = &self.world.walls[plane];
        super::sweep::from_wall(self.grid, self.state, wall, i)
    }

    /// Cell of sphere `i`.
    #[inline]
    pub fn cell(&self, i: usize) -> IVec3 {
        self.state.cell[i].truncate()
    }
}

// Whether two spheres with so many pressed contacts are in a crowd.
fn are_crowded(a: u8, b: u8) -> bool {
    if a.min(b) == 0 { a.max(b) >= HELD_CONTACTS } else { a.saturating_add(b) >= CROWDED_CONTACTS }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{Sphere, System, cpu::core::Core};

    // A positive answer is never wrong, and most separated pairs get one.
    #[test]
    fn what_stays_clear_does_not_overlap_ahead() {
        const DEPTH: f32 = 0.002;
        let mut rng = Pcg64::seed_from_u64(5);
        let mut vector =
            |most: f64| DVec3::from_array(std::array::from_fn(|_| most * (2.0 * rng.random::<f64>() - 1.0)));
        let mut system = System { gravity: -DVec3::Z, ..System::default() };
        system.spheres = (0..60)
            .map(|id| Sphere {
                id,
                position: vector(1.0),
                velocity: vector(3.0),
                fixed: id % 10 == 0,
                ..Sphere::default()
            })
            .collect();
        let mut core = Core::new(&system, |_| -1.0).unwrap();
        core.clock.iter_mut().enumerate().for_each(|(k, clock)| *clock = 0.001 * k as f32);
        let frame =
            Frame { h: 0.1, gravity: core.domain.world.gravity, drift: Vec3::ZERO, drifted: Vec3::ZERO };
        let view = core.view(frame);
        let (mut told, mut clear) = (0, 0);
        for (i, j) in (0..60).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let shift = core.domain.grid.shift(core.state.cell[j].truncate() - core.state.cell[i].truncate());
            let depth = view.overlap_ahead(i, j, shift).ahead;
            let stays_clear = view.stays_clear(i, j, Vec3A::from(shift), DEPTH);
            assert!(!stays_clear || depth <= DEPTH, "{i} and {j}: {depth}");
            let is_fixed = core.state.inverse_mass(i) == 0.0 || core.state.inverse_mass(j) == 0.0;
            assert!(!(stays_clear && is_fixed));
            told += u32::from(stays_clear);
            clear += u32::from(depth <= DEPTH - 1e-4 && !is_fixed);
        }
        assert!(told >= clear && clear > 200, "{told} of {clear}");
    }
}
