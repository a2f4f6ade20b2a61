//! Chooses the simulation step that each frame shows.

use crate::cli::command_error::CommandError;

/// Longest run in steps; a longer one is a typing error, or can be run in parts.
const STEPS_MAX: f64 = 1e12;

/// Schedule of a film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    pub frames: u64,
    /// Steps before the first frame.
    first: u64,
    /// Steps between frames; may be fractional.
    every: f64,
}

impl Schedule {
    /// `start` and `speed` are simulated times, `speed` per second of film; without `speed`, `steps_per_frame` applies.
    pub fn new(
        frames: u64,
        dt: f64,
        fps: f64,
        start: f64,
        speed: Option<f64>,
        steps_per_frame: u64,
    ) -> Result<Self, CommandError> {
        let every = speed.map_or(steps_per_frame as f64, |speed| speed / fps / dt);
        let last = start / dt + every * frames as f64;
        if last.is_nan() || last > STEPS_MAX {
            return Err(CommandError::usage(format!(
                "the last frame is {last:e} steps of {dt} away; at most {STEPS_MAX:e} can be run"
            )));
        }
        Ok(Self { frames, first: whole(start / dt), every })
    }

    /// The step that a frame shows, with frames counted from 0: the last step reached by then.
    pub fn step(&self, frame: u64) -> u64 {
        self.first + whole(self.every * frame as f64)
    }

    /// Number of steps of the whole film.
    pub fn steps(&self) -> u64 {
        self.step(self.frames.saturating_sub(1))
    }

    /// A note to the user, if the schedule needs one.
    pub fn note(&self) -> Option<String> {
        let every = self.every;
        if (every - every.round()).abs() <= 1e-6 * every {
            return None;
        }
        Some(if every < 1.0 {
            format!(
                "note: a frame is {every:.3} of a step, and frames show whole steps: some show the same; a smaller \
                 world.dt makes the film smooth"
            )
        } else {
            format!("note: a frame is {every:.3} steps; each shows the last whole step that it reaches")
        })
    }
}

// Allows a rounding error of a millionth of a step or of the total: a scene may say 0.016666667 for a sixtieth.
fn whole(steps: f64) -> u64 {
    (steps * (1.0 + 1e-6) + 1e-6).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_show_the_last_step_they_reach() {
        let steps = |schedule: Schedule| (0..schedule.frames).map(|k| schedule.step(k)).collect::<Vec<_>>();
        let film = |speed, every| Schedule::new(5, 0.01, 25.0, 0.0, speed, every).unwrap();
        assert_eq!(steps(film(None, 3)), [0, 3, 6, 9, 12]);
        // 0.04 per frame is four steps, regardless of rounding.
        assert_eq!((steps(film(Some(1.0), 1)), film(Some(1.0), 1).note()), (vec![0, 4, 8, 12, 16], None));
        assert_eq!(steps(film(Some(0.6), 1)), [0, 2, 4, 7, 9]);
        assert!(film(Some(0.6), 1).note().unwrap().contains("2.400 steps"));
        assert_eq!(steps(film(Some(0.1), 1)), [0, 0, 0, 1, 1]);
        assert!(film(Some(0.1), 1).note().unwrap().contains("the same"));
        let late = Schedule::new(2, 0.01, 25.0, 0.5, None, 1).unwrap();
        assert_eq!((steps(late), late.steps()), (vec![50, 51], 51));
        // A sixtieth, as scenes write it.
        assert_eq!(Schedule::new(1, 0.016666667, 25.0, 1.0, None, 1).unwrap().steps(), 60);
        assert!(Schedule::new(2, 1e-300, 25.0, 0.0, Some(1.0), 1).is_err());
    }
}
