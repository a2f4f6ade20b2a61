//! What a comparison finds.

use std::{collections::BTreeMap, fmt::Debug};

/// Differences beyond the tolerance, near-ties, and how close the rest came.
pub struct Verdict {
    pub name: String,
    /// Values that were compared.
    pub compared: u64,
    /// Decisions that differ and may.
    pub near_ties: u64,
    /// Largest difference as a share of its tolerance.
    pub worst: f64,
    pub wrong: Vec<String>,
    /// How often the starts gave the stage something out of the ordinary to do.
    pub seen: BTreeMap<&'static str, u64>,
}

/// Messages kept of one comparison.
const MOST: usize = 8;

impl Verdict {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            compared: 0,
            near_ties: 0,
            worst: 0.0,
            wrong: vec![],
            seen: BTreeMap::new(),
        }
    }

    /// Notes a difference.
    pub fn fail(&mut self, message: impl FnOnce() -> String) {
        if self.wrong.len() < MOST {
            self.wrong.push(message());
        }
    }

    /// Two values that have to be equal.
    pub fn equal<T: PartialEq + Debug>(&mut self, what: &str, i: usize, found: T, twin: T) {
        self.compared += 1;
        if found != twin {
            self.fail(|| format!("{what} {i}: {found:?}, twin {twin:?}"));
        }
    }

    /// Two numbers that may differ by `tolerance`; values that are not finite have to be equal.
    pub fn near(&mut self, what: &str, i: usize, found: f32, twin: f32, tolerance: f32) {
        self.compared += 1;
        let difference = f64::from(found) - f64::from(twin);
        if found == twin {
            return;
        }
        let share = difference.abs() / f64::from(tolerance);
        if share <= 1.0 {
            self.worst = self.worst.max(share);
        } else {
            // Also where one of them is not a number.
            self.fail(|| format!("{what} {i}: {found:e}, twin {twin:e}, tolerance {tolerance:e}"));
        }
    }

    /// The same for each component.
    pub fn near_vector(&mut self, what: &str, i: usize, found: glam::Vec3, twin: glam::Vec3, tolerance: f32) {
        for axis in 0..3 {
            self.near(what, i, found[axis], twin[axis], tolerance);
        }
    }

    /// Two lists that have to hold the same, in any order.
    pub fn same_set<T: Ord + Debug>(&mut self, what: &str, mut found: Vec<T>, mut twin: Vec<T>) {
        self.compared += twin.len() as u64 + 1;
        found.sort_unstable();
        twin.sort_unstable();
        if found != twin {
            let dynamic: Vec<_> = found.iter().filter(|x| twin.binary_search(x).is_err()).take(3).collect();
            let missing: Vec<_> = twin.iter().filter(|x| found.binary_search(x).is_err()).take(3).collect();
            let counts = (found.len(), twin.len());
            self.fail(|| {
                format!("{what}: {counts:?} members; only found {dynamic:?}, only twin {missing:?}")
            });
        }
    }

    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.near_ties += other.near_ties;
        self.worst = self.worst.max(other.worst);
        for (what, count) in other.seen {
            self.saw(what, count);
        }
    }

    /// Counts what the comparison has covered.
    pub fn saw(&mut self, what: &'static str, count: u64) {
        *self.seen.entry(what).or_default() += count;
    }

    /// No difference, and next to no near-ties.
    pub fn assert_clean(&self) {
        let most = 2 + self.compared / 5000;
        let few = self.near_ties <= most;
        assert!(
            self.wrong.is_empty() && few,
            "{}: {} near-ties, {:#?}",
            self.name,
            self.near_ties,
            self.wrong
        );
    }

    /// Prints the figures; whatever was counted must have happened.
    pub fn report(&self) {
        println!(
            "{}: {} values compared, {} near-ties, largest difference {:.2} of its tolerance; {:?}",
            self.name, self.compared, self.near_ties, self.worst, self.seen
        );
        let unseen: Vec<_> = self.seen.iter().filter(|(_, count)| **count == 0).collect();
        assert!(unseen.is_empty(), "{}: never happened: {unseen:?}", self.name);
    }
}
