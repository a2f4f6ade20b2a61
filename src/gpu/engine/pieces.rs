//! Steps that are taken one substep at a time, each waited for: a substep that is crowded is done in halves, as the twin
//! does, and what was done before it stays done.

use super::{GpuEngine, MOST_HALVINGS, Redone, words};
use crate::{
    Error, Impact, StepReport,
    gpu::{
        division::{Division, Piece},
        effort::Effort,
        encode::Encoder,
        flight::Tally,
        impacts,
        layout::{
            CANDIDATES_NEEDED, Frame, HALT, HALT_CUT, HALT_LATE, HALT_OVERFLOW, HALT_STUCK, HALT_TOO_LONG,
            HALT_TURNS, HALT_UNFINISHED, ROUNDS_MAX,
        },
        snapshot::Snapshot,
    },
};

/// Rounds that a piece may have without being out of the ordinary: what is crowded is halved before.
const ORDINARY_ROUNDS: u64 = 64;

/// Rounds beyond those that the pieces of a step may have together before all of it is left to the twin: on llvmpipe that does the
/// same in a hundredth of the time.
const MOST_OVERTIME: u64 = 1 << 12;

impl GpuEngine {
    /// Takes a step from the present state; nothing is under way.
    pub(super) fn step_in_pieces(
        &mut self,
        step: u64,
        start_time: f64,
        mut impacts: Option<&mut Vec<Impact>>,
        mut division: Division,
        mut redone: Redone,
    ) -> Result<StepReport, Error> {
        let begin = (self.current, division);
        if !division.builds_once() {
            self.runway.make_room_for_start(&self.context, &self.buffers, &division)?;
            let mut encoder = self.context.device.create_command_encoder(&Default::default());
            self.runway.keep_start(&mut encoder, &self.buffers, begin);
            self.context.queue.submit([encoder.finish()]);
        }
        let mut left = division.pieces(&self.host, self.dt);
        left.reverse();
        let most_overtime = MOST_OVERTIME + ORDINARY_ROUNDS * left.len() as u64;
        division.effort = self.effort;
        let mut tally = Tally::default();
        let mut overtime = 0;
        while let Some(mut piece) = left.pop() {
            if overtime >= most_overtime {
                return self.leave_to_twin(begin, step, start_time, impacts, redone);
            }
            let words = self.fly(step, &piece, &division, &mut redone)?;
            let halt = words[HALT as usize];
            if halt == 0 {
                overtime += u64::from(words[ROUNDS_MAX as usize]).saturating_sub(ORDINARY_ROUNDS);
                tally.add(&words, 1, &self.buffers.places);
                if let Some(impacts) = &mut impacts {
                    let (context, buffers) = (&self.context, &self.buffers);
                    impacts::read(context, buffers, &self.host, &words, start_time, &[piece.time], impacts)?;
                }
                continue;
            }
            // Of a piece that is done again nothing stays.
            self.runway.middle.put_back(&self.context, &self.buffers.substep_state(self.current));
            let lists = words[CANDIDATES_NEEDED as usize] > self.buffers.places.capacities.entries;
            if halt & HALT_TOO_LONG != 0 {
                return Err(self.too_long(&words, begin));
            }
            let again = if halt & HALT_OVERFLOW != 0 {
                redone.overflows += 1;
                self.grow(&words)?;
                true
            } else {
                self.make_room(self.buffers.places.capacities)?;
                halt & HALT_CUT != 0 && self.effort.spread()
                    || halt & HALT_TURNS != 0 && self.effort.turn_again(division.effort.turns)
                    || halt == HALT_UNFINISHED && (division.widen() || self.effort.go_on(u32::MAX))
            };
            if again {
                // Unless its lists are as they should be, from the copy of the state that they were made from.
                let remake = piece.builds && (lists || halt & HALT_CUT != 0);
                if remake {
                    self.current = 1 - self.current;
                }
                division.effort = self.effort;
                piece.builds = remake;
                left.push(piece);
                continue;
            }
            tally.substeps += 1;
            if halt & HALT_UNFINISHED != 0 {
                let Effort { tails, tail_rounds, .. } = division.effort;
                overtime += u64::from(tails * tail_rounds);
            }
            if halt & HALT_STUCK == 0 && piece.halvings < MOST_HALVINGS {
                redone.halvings += 1;
                let mut halves = piece.halves(&self.host);
                if halves[0].halvings == MOST_HALVINGS {
                    halves.iter_mut().for_each(|half| half.shortest = true);
                }
                left.extend(halves.into_iter().rev());
            } else if halt == HALT_LATE {
                (piece.lenient, piece.builds) = (true, false);
                left.push(piece);
            } else {
                return self.leave_to_twin(begin, step, start_time, impacts, redone);
            }
        }
        if let Some(impacts) = &mut impacts {
            impacts::sort(impacts);
        }
        let words = self.audit(&division, &mut redone)?;
        self.finish(step, begin, &words, tally, redone)
    }

    // Gives up a step that began like this.
    fn leave_to_twin(
        &mut self,
        begin: (usize, Division),
        step: u64,
        start_time: f64,
        mut impacts: Option<&mut Vec<Impact>>,
        redone: Redone,
    ) -> Result<StepReport, Error> {
        self.go_back(begin);
        if let Some(impacts) = &mut impacts {
            impacts.clear();
        }
        self.hand_over(step, start_time, impacts, redone)
    }

    // Submits one piece on its own and waits for it. The state before it is kept.
    fn fly(
        &mut self,
        step: u64,
        piece: &Piece,
        division: &Division,
        redone: &mut Redone,
    ) -> Result<Vec<u32>, Error> {
        let sources = self.buffers.substep_state(self.current);
        self.runway.middle.make_room(&self.context, &sources)?;
        self.place_walls(step, std::slice::from_ref(piece))?;
        let frame = division.frame(&self.host, &self.buffers.places, piece, 0);
        let slowing = self.host.slowing;
        self.submit_alone(frame, division, redone, |encoder, middle| {
            if piece.builds {
                encoder.broad_phase(0);
                // With the lists, so that it is done again where they are.
                if piece.begins() && slowing > 0.0 {
                    encoder.drag(0);
                }
            }
            let sources = encoder.buffers.substep_state(encoder.current);
            middle.keep(&mut encoder.encoder, &sources);
            encoder.substep(0, division.wide_rounds);
        })
    }

    fn audit(&mut self, division: &Division, redone: &mut Redone) -> Result<Vec<u32>, Error> {
        let frame = division.audit(&self.host, &self.buffers.places);
        let slowing = self.host.slowing;
        self.submit_alone(frame, division, redone, |encoder, _| {
            if slowing > 0.0 {
                encoder.drag(0);
            }
            encoder.audit(0);
        })
    }

    fn submit_alone(
        &mut self,
        frame: Frame,
        division: &Division,
        redone: &mut Redone,
        encode: impl FnOnce(&mut Encoder, &Snapshot),
    ) -> Result<Vec<u32>, Error> {
        self.context.check()?;
        self.buffers.write_frames(&self.context, &self.pipelines, &[frame])?;
        let mut encoder = Encoder::new(
            &self.context.device,
            &self.pipelines,
            &self.buffers,
            self.current,
            division.effort,
            self.timing.as_mut(),
        );
        encoder.begin();
        encode(&mut encoder, &self.runway.middle);
        let end = encoder.current;
        redone.dispatches += encoder.dispatches;
        redone.waits += 1;
        let pending = self.runway.send(&self.context, &self.buffers, encoder)?;
        self.current = end;
        let (bytes, buffer) = pending.wait(&self.context)?;
        self.runway.give_back(buffer);
        if let Some(timing) = &mut self.timing {
            timing.read(&self.context)?;
        }
        Ok(words(&bytes))
    }
}
