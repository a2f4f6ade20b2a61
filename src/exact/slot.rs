//! The predicted events of a sphere.

use super::{ahead::prefetch, queue::Key};
use crate::step::checkpoint::{MEETINGS, Predictions};

// Predicted impacts per slot. More make a slot larger, fewer empty the slot more often: with a single one, every impact costs
// about one more full search, for a third sphere whose partner has changed its motion.
const KEPT: usize = MEETINGS;

/// An event without another sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Alone {
    Nothing,
    /// Crossing into the next cell along an axis, up (1) or down (-1).
    Cross(u8, i8),
    /// Impact on a plane.
    Wall(u32),
}

/// A predicted impact of two spheres.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    pub time: f64,
    /// The other sphere; `u32::MAX` for none.
    pub partner: u32,
    /// `Properties::number` of the partner.
    pub partner_number: u32,
    /// `Properties::impacts` of the partner at the prediction; with any other number the prediction is void.
    pub partner_impacts: u32,
}

const NOBODY: Meeting =
    Meeting { time: f64::INFINITY, partner: u32::MAX, partner_number: u32::MAX, partner_impacts: 0 };

impl Meeting {
    // Order of predicted impacts: time, smaller number, larger number. Numbers are ranks of the ids.
    fn key(&self, number: u32) -> Key {
        if self.partner == u32::MAX {
            return Key::NEVER;
        }
        let (low, high) = (self.partner_number.min(number), self.partner_number.max(number));
        Key { time: self.time, rank: u64::from(low) << 32 | u64::from(high) }
    }
}

/// The times of a sphere: its earliest predicted events and its last impact.
///
/// A predicted impact stays in the slot of the sphere that changed last, at least, until it happens or becomes void. If the
/// slot had to drop it, the slot's [`horizon`](Self::forget) is not later than the dropped impact. The earliest slot is
/// therefore never late.
///
/// Most spheres have no event in a short step, so a slot follows the origin of time only when it is used.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Slot {
    /// Time of the last impact, from the start of the step; -infinity before the first.
    pub last_contact: f64,
    pub alone_time: f64,
    pub alone: Alone,
    // Number of the step from whose start the times are counted.
    step: u32,
    // Time of the earliest dropped impact.
    horizon: f64,
    meetings: [Meeting; KEPT],
}

/// The event of the first sphere in the queue.
pub(super) enum Next {
    Alone(Alone),
    Meeting(Meeting),
    /// The slot is empty but impacts were dropped: a new search is needed.
    Search,
}

const WALL: u64 = 1 << 31;

impl Default for Slot {
    fn default() -> Self {
        Self {
            meetings: [NOBODY; KEPT],
            horizon: f64::INFINITY,
            alone: Alone::Nothing,
            alone_time: f64::INFINITY,
            last_contact: f64::NEG_INFINITY,
            step: 0,
        }
    }
}

impl Slot {
    /// The predicted events.
    pub fn predictions(&self) -> Predictions {
        let Self { last_contact, alone_time, alone, horizon, meetings, .. } = self;
        Predictions {
            last_contact: *last_contact,
            alone_time: *alone_time,
            horizon: *horizon,
            meeting_times: meetings.map(|meeting| meeting.time),
            partners: meetings.map(|meeting| meeting.partner),
            partner_impacts: meetings.map(|meeting| meeting.partner_impacts),
            alone: alone.code(),
        }
    }

    /// A slot with predicted events, in step 0. `numbers` are those of all spheres, by index.
    pub fn of(made: &Predictions, numbers: &[u32]) -> Self {
        Self {
            last_contact: made.last_contact,
            alone_time: made.alone_time,
            alone: Alone::of(made.alone),
            step: 0,
            horizon: made.horizon,
            meetings: std::array::from_fn(|k| Meeting {
                time: made.meeting_times[k],
                partner: made.partners[k],
                partner_number: numbers.get(made.partners[k] as usize).copied().unwrap_or(u32::MAX),
                partner_impacts: made.partner_impacts[k],
            }),
        }
    }

    /// Stores a predicted impact; `number` is the sphere's own number.
    pub fn insert(&mut self, mut meeting: Meeting, number: u32) {
        if meeting.time >= self.horizon {
            return;
        }
        let key = meeting.key(number);
        let Some(place) = self.meetings.iter().position(|kept| key.before(kept.key(number))) else {
            self.horizon = meeting.time;
            return;
        };
        for kept in &mut self.meetings[place..] {
            std::mem::swap(kept, &mut meeting);
        }
        self.horizon = self.horizon.min(meeting.time);
    }

    /// Removes the first predicted impact.
    pub fn forget(&mut self) {
        self.meetings.rotate_left(1);
        self.meetings[KEPT - 1] = NOBODY;
    }

    /// Time of the sphere's next event. Crossings come before impacts, so that every sphere is in its cell at any impact; impacts
    /// on walls come after simultaneous impacts on spheres.
    pub fn key(&self, number: u32) -> Key {
        let (alone, pair) = (self.alone_key(number), self.pair_key(number));
        if pair.before(alone) { pair } else { alone }
    }

    /// The sphere's next event.
    pub fn next(&self, number: u32) -> Next {
        if !self.pair_key(number).before(self.alone_key(number)) {
            Next::Alone(self.alone)
        } else if self.meetings[0].partner == u32::MAX {
            Next::Search
        } else {
            Next::Meeting(self.meetings[0])
        }
    }

    /// Asks for both cache lines.
    pub fn fetch(&self) {
        prefetch(self);
        prefetch(&self.meetings[KEPT - 1]);
    }

    /// Drops all predicted events.
    pub fn clear(&mut self) {
        let Self { last_contact, step, .. } = *self;
        *self = Self { last_contact, step, ..Self::default() };
    }

    /// Moves the origin of time to the start of the step with this number; the steps before it last `dt` each.
    ///
    /// The times are those of a move in each step, to the bit.
    pub fn follow(&mut self, step: u32, dt: f64) {
        while self.step != step {
            for meeting in &mut self.meetings {
                meeting.time -= dt;
            }
            self.horizon -= dt;
            self.alone_time -= dt;
            self.last_contact -= dt;
            self.step = self.step.wrapping_add(1);
        }
    }

    /// Renumbers the partners; `place` gives the new number.
    pub fn reorder(&mut self, place: &[u32]) {
        for meeting in &mut self.meetings {
            meeting.partner = place.get(meeting.partner as usize).copied().unwrap_or(u32::MAX);
        }
    }

    fn pair_key(&self, number: u32) -> Key {
        if self.meetings[0].partner == u32::MAX {
            return if self.horizon < f64::INFINITY {
                Key { time: self.horizon, rank: 0 }
            } else {
                Key::NEVER
            };
        }
        self.meetings[0].key(number)
    }

    fn alone_key(&self, number: u32) -> Key {
        let rank = match self.alone {
            Alone::Nothing => return Key::NEVER,
            Alone::Cross(..) => 0,
            Alone::Wall(wall) => u64::from(number) << 32 | WALL | u64::from(wall),
        };
        Key { time: self.alone_time, rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(time: f64, partner: u32) -> Meeting {
        Meeting { time, partner, partner_number: partner, partner_impacts: 0 }
    }

    #[test]
    fn a_slot_never_promises_more_than_it_knows() {
        let mut slot = Slot::default();
        for (time, partner) in [(5.0, 5), (1.0, 1), (4.0, 4), (3.0, 3), (2.0, 2), (6.0, 6)] {
            slot.insert(meeting(time, partner), 0);
        }
        for expected in 1..=3 {
            let Next::Meeting(first) = slot.next(0) else { panic!("{expected} was forgotten") };
            assert_eq!(first.partner, expected);
            slot.forget();
        }
        // 4 was dropped, so a search is due; later events must not hide this.
        slot.insert(meeting(4.5, 7), 0);
        assert!(matches!(slot.next(0), Next::Search));
        assert_eq!(slot.key(0).time, 4.0);
        slot.insert(meeting(3.5, 8), 0);
        assert!(matches!(slot.next(0), Next::Meeting(m) if m.partner == 8));
    }

    #[test]
    fn ties_go_by_the_smaller_then_the_larger_number() {
        let mut slot = Slot::default();
        slot.insert(meeting(1.0, 9), 5);
        slot.insert(meeting(1.0, 2), 5);
        slot.insert(meeting(1.0, 7), 5);
        (slot.alone, slot.alone_time) = (Alone::Wall(0), 1.0);
        for expected in [2, 7, 9] {
            assert!(matches!(slot.next(5), Next::Meeting(m) if m.partner == expected));
            slot.forget();
        }
        assert!(matches!(slot.next(5), Next::Alone(Alone::Wall(0))));
        (slot.alone, slot.alone_time) = (Alone::Cross(0, 1), 1.0);
        slot.insert(meeting(1.0, 2), 5);
        assert!(matches!(slot.next(5), Next::Alone(Alone::Cross(0, 1))));
    }
}
