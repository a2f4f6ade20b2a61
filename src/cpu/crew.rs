//! Threads that wait for work, and parallel loops over jobs that have to wait for some of the jobs before them.
//!
//! Jobs have places, and a place comes after some of the places with smaller numbers. A job waits only for the jobs at these places:
//! if all threads waited for the slowest one after each of the eight colours of blocks, in a small world they would wait most of
//! the time. Each thread first takes the jobs of its own part of the world, because memory that
//! another core has written last is slow to read. It takes a job only when the job can begin, so nobody waits for a thread that
//! joins late. The results do not depend on the threads if jobs without an order between them have no data in common.

use std::{
    cell::UnsafeCell,
    hint::spin_loop,
    ops::Range,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU32, AtomicUsize,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
    thread,
};

use crate::cpu::parallel;

/// After so many looks for work without success a thread lets other threads run after each look, and after `TIRED` it leaves.
const KEEN: u32 = 1 << 8;
const TIRED: u32 = 1 << 11;

/// Spheres per thread that looks for work.
const SPHERES_OF_THREAD: usize = 256;

/// Pauses of the processor between two looks.
const PAUSES: u32 = 8;

/// Number of times that a thread without a job looks in its own part before it looks in the other parts too.
const LOOKS: u32 = 64;

/// Number of times that a thread without a job looks before it lets other threads run.
const PATIENCE: u32 = 512;

/// So many jobs per thread are needed at least; otherwise fewer threads take part.
const JOBS_OF_THREAD: usize = 2;

/// Keeps the other threads of the pool looking for work until it is dropped, or until there has been none for long. A step has hundreds
/// of short parallel loops, and a thread that sleeps between them wakes too late for the next one.
pub struct Awake {
    is_over: Arc<AtomicBool>,
}

impl Awake {
    /// For a step of so many spheres on the current pool.
    pub fn new(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (threads, useful) = (rayon::current_num_threads(), count / SPHERES_OF_THREAD);
        let caller = rayon::current_thread_index();
        if let Some(caller) = caller
            && threads.min(useful) > 1
        {
            let is_over = is_over.clone();
            rayon::spawn_broadcast(move |context| {
                let distance = (context.index() + threads - caller) % threads;
                if (1..useful).contains(&distance) {
                    look_for_work(&is_over);
                }
            });
        }
        Self { is_over }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

fn look_for_work(is_over: &AtomicBool) {
    let mut looks = 0;
    while looks < TIRED && !is_over.load(Relaxed) {
        looks += 1;
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            looks = 0;
        } else if looks > KEEN {
            thread::yield_now();
        } else {
            (0..PAUSES).for_each(|_| spin_loop());
        }
    }
}

/// A job of a loop.
pub struct Job<T> {
    /// Its places. No two jobs share a place.
    pub places: Range<usize>,
    /// Where its data are in memory, as the index of a sphere.
    pub home: usize,
    pub item: T,
}

/// The memory of such loops.
#[derive(Default)]
pub struct Crew {
    /// The job of each place, or [`u32::MAX`].
    job_at: Vec<u32>,
    /// Number of phases in which each job has ended.
    ended: Vec<AtomicU32>,
}

/// The jobs of a part of the world. Its alignment keeps it out of the cache lines of other parts.
#[repr(align(128))]
struct Part {
    /// Indices of its jobs.
    jobs: Range<usize>,
    /// Number of jobs that were taken in all phases.
    taken: AtomicUsize,
    /// Number of jobs that threads of this part have ended.
    ended: Padded<AtomicUsize>,
}

#[repr(align(128))]
struct Padded<T>(T);

/// A loop in progress.
struct Loop<'l, T, B, G, W> {
    jobs: &'l [(Range<usize>, UnsafeCell<T>)],
    crew: &'l Crew,
    parts: &'l [Part],
    phases: usize,
    before: B,
    goes_on: G,
    work: W,
    /// Number of the last phase that has begun.
    begun: AtomicUsize,
    is_abandoned: AtomicBool,
}

// SAFETY: a job is taken by one thread at a time, and its end is released to the thread that takes it in the next phase.
unsafe impl<T: Send, B: Sync, G: Sync, W: Sync> Sync for Loop<'_, T, B, G, W> {}

/// What a thread found in a part.
enum Found {
    Job,
    /// A job that cannot begin yet.
    Later,
    Nothing,
}

impl Crew {
    /// Runs `work` with the number of a phase and a job, for all jobs in each phase. `jobs` come in ascending order of their
    /// places. `before` returns the places that a place comes after: a job begins when the jobs of these places have ended in the
    /// phase. A phase begins when the last one has ended, and if `goes_on` returns true for the number of phases that have ended.
    /// `work` must not wait for threads of the pool.
    pub fn run<'b, T: Send>(
        &mut self,
        mut jobs: Vec<Job<T>>,
        before: impl Fn(usize) -> &'b [u32] + Sync,
        phases: usize,
        goes_on: impl Fn(usize) -> bool + Sync,
        work: impl Fn(usize, &mut T) + Sync,
    ) {
        let threads = parallel::threads().min(jobs.len() / JOBS_OF_THREAD);
        if threads <= 1 {
            for phase in (0..phases).take_while(|&phase| phase == 0 || goes_on(phase)) {
                jobs.iter_mut().for_each(|job| work(phase, &mut job.item));
            }
            return;
        }
        // Each thread gets as many jobs as the others, from one region.
        debug_assert!(jobs.is_sorted_by(|a, b| a.places.end <= b.places.start), "places ascend");
        let count = jobs.len();
        let mut by_home: Vec<_> = (0..count).collect();
        by_home.sort_unstable_by_key(|&job| (jobs[job].home, job));
        let mut part_of = vec![0; count];
        by_home.into_iter().enumerate().for_each(|(rank, job)| part_of[job] = rank * threads / count);
        let mut jobs: Vec<_> = part_of.into_iter().zip(jobs).collect();
        jobs.sort_by_key(|(part, _)| *part);
        let jobs: Vec<_> = jobs.into_iter().map(|(_, job)| (job.places, UnsafeCell::new(job.item))).collect();
        self.enter(jobs.iter().map(|(places, _)| places));
        let first_of = |part: usize| (part * count).div_ceil(threads);
        let part = |part| Part {
            jobs: first_of(part)..first_of(part + 1),
            taken: AtomicUsize::new(0),
            ended: Padded(AtomicUsize::new(0)),
        };
        let parts: Vec<_> = (0..threads).map(part).collect();
        let all = Loop {
            jobs: &jobs,
            crew: self,
            parts: &parts,
            phases,
            before,
            goes_on,
            work,
            begun: AtomicUsize::new(0),
            is_abandoned: AtomicBool::new(false),
        };
        let all = &all;
        rayon::scope(|scope| {
            let main = rayon::current_thread_index().unwrap_or(0);
            for _ in 1..threads {
                scope.spawn(move |_| {
                    let all_threads = rayon::current_num_threads();
                    let own = rayon::current_thread_index().unwrap_or(0) + all_threads - main;
                    all.take_part(own % all_threads % threads);
                });
            }
            all.take_part(0);
        });
    }

    fn enter<'p>(&mut self, jobs: impl ExactSizeIterator<Item = &'p Range<usize>> + Clone) {
        self.ended.clear();
        self.ended.resize_with(jobs.len(), AtomicU32::default);
        self.job_at.clear();
        self.job_at.resize(jobs.clone().map(|places| places.end).max().unwrap_or(0), u32::MAX);
        jobs.zip(0..).for_each(|(places, job)| self.job_at[places.clone()].fill(job));
    }

    pub fn bytes(&self) -> usize {
        4 * (self.ended.capacity() + self.job_at.capacity())
    }
}

impl<'b, T, B: Fn(usize) -> &'b [u32], G: Fn(usize) -> bool, W: Fn(usize, &mut T)> Loop<'_, T, B, G, W> {
    // Works on jobs, those of one part first, until all phases have ended.
    fn take_part(&self, own: usize) {
        let alarm = Alarm(&self.is_abandoned);
        let mut looks = 0;
        while !self.is_abandoned.load(Relaxed) {
            let found = self.try_part(own, own);
            if let Found::Job = found {
                looks = 0;
                continue;
            }
            // A job of another part moves its data to this core, which takes longer than a short wait.
            if looks >= LOOKS || matches!(found, Found::Nothing) {
                let mut others = (1..self.parts.len()).map(|k| (own + k) % self.parts.len());
                let mut is_over = matches!(found, Found::Nothing);
                let has_worked = others.any(|part| match self.try_part(part, own) {
                    Found::Job => true,
                    Found::Later => {
                        is_over = false;
                        false
                    }
                    Found::Nothing => false,
                });
                if has_worked {
                    looks = LOOKS;
                    continue;
                }
                if is_over {
                    break;
                }
            }
            looks += 1;
            if looks < PATIENCE {
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
        std::mem::forget(alarm);
    }

    // Works on the next job of a part, if it can begin.
    fn try_part(&self, part: usize, own: usize) -> Found {
        let Part { jobs, taken, .. } = &self.parts[part];
        let number = taken.load(Acquire);
        let phase = number.checked_div(jobs.len()).unwrap_or(self.phases);
        if phase >= self.phases {
            return Found::Nothing;
        }
        if phase > self.begun.load(Acquire) {
            let ended: usize = self.parts.iter().map(|part| part.ended.0.load(Acquire)).sum();
            if ended < phase * self.jobs.len() {
                return Found::Later;
            }
            if !(self.goes_on)(phase) {
                return Found::Nothing;
            }
            self.begun.fetch_max(phase, AcqRel);
        }
        let job = jobs.start + number % jobs.len();
        let has_ended = |&place: &u32| {
            self.crew.job_at.get(place as usize).is_none_or(|&job| {
                job == u32::MAX || self.crew.ended[job as usize].load(Acquire) > phase as u32
            })
        };
        let (places, item) = &self.jobs[job];
        if !places.clone().flat_map(&self.before).all(has_ended) {
            return Found::Later;
        }
        if taken.compare_exchange(number, number + 1, AcqRel, Relaxed).is_err() {
            return Found::Later;
        }
        // SAFETY: only this thread has taken the job in this phase, and the job of the phase before has ended.
        (self.work)(phase, unsafe { &mut *item.get() });
        self.crew.ended[job].store(phase as u32 + 1, Release);
        self.parts[own].ended.0.fetch_add(1, AcqRel);
        Found::Job
    }
}

/// Tells the other threads that a job has panicked, so that nobody waits for it.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;
    use rayon::ThreadPoolBuilder;

    use super::*;

    fn in_pool(threads: usize, work: impl FnOnce() + Send) {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let _awake = Awake::new(1 << 20);
            work();
        });
    }

    // Jobs of one to three places, of which some have no job, and for each place some of the earlier places outside its job.
    fn example(rng: &mut Pcg64) -> (Vec<Range<usize>>, Vec<Vec<u32>>) {
        let (mut jobs, mut before, mut end) = (vec![], vec![], 0);
        for _ in 0..rng.random_range(1..120) {
            let places = end..end + rng.random_range(1..4);
            end = places.end;
            for _ in places.clone() {
                let earlier = (0..rng.random_range(0..6)).filter(|_| places.start > 0);
                before.push(earlier.map(|_| rng.random_range(0..places.start as u32)).collect());
            }
            if rng.random_range(0..5) > 0 {
                jobs.push(places);
            }
        }
        (jobs, before)
    }

    #[test]
    fn a_job_begins_after_the_jobs_before_it_and_a_phase_after_the_last_one() {
        let mut crew = Crew::default();
        let mut rng = Pcg64::seed_from_u64(5);
        for (round, threads) in (0..200).zip([1, 2, 3, 8].into_iter().cycle()) {
            let ((places, before), phases) = (example(&mut rng), rng.random_range(1..6));
            let last = rng.random_range(1..8);
            let clock = AtomicUsize::new(0);
            let now = || clock.fetch_add(1, AcqRel);
            // Begin and end of each job in each phase.
            let mut jobs = vec![];
            let mut times = vec![vec![[0; 2]; phases]; places.len()];
            for (times, places) in times.iter_mut().zip(&places) {
                let home = rng.random_range(0..1000);
                jobs.push(Job { places: places.clone(), home, item: times });
            }
            in_pool(threads, || {
                let work = |phase: usize, times: &mut &mut Vec<[usize; 2]>| {
                    let begin = now() + 1;
                    thread::yield_now();
                    times[phase] = [begin, now() + 1];
                };
                crew.run(jobs, |place| &before[place], phases, |ended| ended < last, work);
            });
            for phase in 0..phases {
                let ended: Vec<_> = (0..places.len()).map(|job| times[job][phase][1]).collect();
                if phase >= last {
                    assert!(ended.iter().all(|&end| end == 0), "{round}: a phase too many");
                    continue;
                }
                assert!(ended.iter().all(|&end| end > 0), "{round}: every job has run");
                let last_end =
                    if phase == 0 { 0 } else { times.iter().map(|t| t[phase - 1][1]).max().unwrap_or(0) };
                for (job, own) in places.iter().enumerate() {
                    let begin = times[job][phase][0];
                    assert!(begin > last_end, "{round}: phase {phase} begins too soon");
                    for &place in own.clone().flat_map(|place| &before[place]) {
                        let earlier = places.iter().position(|places| places.contains(&(place as usize)));
                        let is_late = earlier.is_some_and(|earlier| times[earlier][phase][1] > begin);
                        assert!(
                            !is_late,
                            "{round}: job {job} begins before the one at place {place} has ended"
                        );
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "this job fails")]
    fn a_panic_reaches_the_caller_and_nobody_waits_for_the_job() {
        let jobs = (0..50).map(|k| Job { places: k..k + 1, home: k, item: k }).collect();
        let before: Vec<_> = (0..50).map(|k: u32| if k == 0 { vec![] } else { vec![k - 1] }).collect();
        in_pool(3, || {
            let work = |_, k: &mut usize| assert!(*k != 25, "this job fails");
            Crew::default().run(jobs, |place| &before[place], 2, |_| true, work);
        });
    }
}
