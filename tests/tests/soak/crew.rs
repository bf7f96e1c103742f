//! [`Crew`]: processes that use every kind of lock from the beginning to the end, and some that come and go.

use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::stalls::Stalls;
use auto_mutex_tests::witness::Witness;
use auto_mutex_tests::worker::{Setup, Worker};

use super::LEASE;

/// The contests of the steady processes, with the number of tasks. Each contest has two processes.
const STEADY: [(&str, u32); 6] = [
    ("mutex", 3),
    ("semaphore:3", 4),
    ("rw", 4),
    ("multi:6", 3),
    // Its holds last up to three leases.
    ("long:15", 2),
    ("handoff:4", 2),
];
/// A longer stall may cost a lock: a provisional grant ends after two seconds, and its claim needs three processes,
/// each of which may stall.
const TOO_LONG: Duration = Duration::from_millis(600);
/// The longest pause after a turn, which keeps all processes together below half of the machine's capacity.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a passing process stays.
const STAY: Duration = Duration::from_secs(12);

/// A process that stays to the end.
struct Steady {
    worker: Worker,
    done: bool,
}

/// A process that comes and goes.
struct Passing {
    worker: Worker,
    since: Instant,
    way: Way,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// The process is killed in the middle of its work.
    Killed,
    Exits,
    Returns,
}

pub(crate) struct Crew {
    setup: Setup,
    witness: u16,
    steady: Vec<Steady>,
    passing: Vec<Passing>,
    said: Vec<String>,
    /// The number of processes that have come and gone.
    pub(crate) gone: u32,
    /// The number of holds that were lost while the machine stalled.
    lost: usize,
}

impl Crew {
    pub(crate) fn start(redis: &Redis, witness: &Witness, duration: Duration) -> Self {
        let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), redis.url(), LEASE);
        let mut crew = Self {
            setup,
            witness: witness.port(),
            steady: Vec::new(),
            passing: Vec::new(),
            said: Vec::new(),
            gone: 0,
            lost: 0,
        };
        for (kind, tasks) in STEADY {
            for _ in 0..2 {
                let worker = crew.contest(kind, tasks, duration);
                let done = false;
                crew.steady.push(Steady { worker, done });
            }
        }
        for _ in 0..2 {
            crew.admit();
        }
        crew
    }

    fn contest(&self, kind: &str, tasks: u32, duration: Duration) -> Worker {
        let mut worker = self.setup.start();
        let (name, _) = kind.split_once(':').unwrap_or((kind, ""));
        let (millis, witness) = (duration.as_millis(), self.witness);
        let seed = worker.pid();
        worker.say(&format!(
            "contest {kind} {name} {millis} {tasks} {witness} {seed} {} 0",
            PAUSE.as_micros()
        ));
        worker
    }

    fn admit(&mut self) {
        // Temporary processes join only the first four contests. In the others, a task may wait for long before its
        // work is done.
        let (kind, tasks) = STEADY[self.gone as usize % 4];
        let way = [Way::Killed, Way::Exits, Way::Returns][self.gone as usize % 3];
        let work = if way == Way::Killed {
            4 * STAY
        } else {
            STAY / 2
        };
        self.passing.push(Passing {
            worker: self.contest(kind, tasks, work),
            since: Instant::now(),
            way,
        });
    }

    /// Reads the lines of all workers. Each temporary process that has stayed long enough ends in one of three ways,
    /// and is replaced. `stall` is the machine's longest recent stall.
    pub(crate) fn look(&mut self, stall: Duration) {
        for steady in &mut self.steady {
            while let Some(line) = steady.worker.overhear() {
                steady.done |= line == "done";
                self.said.push(line);
            }
        }
        for passing in &self.passing {
            while let Some(line) = passing.worker.overhear() {
                self.said.push(line);
            }
        }
        // Some processes are killed, but no task loses a lock, unless the machine stalls for too long.
        if stall > TOO_LONG {
            let lost = self.said.extract_if(.., |line| line.starts_with("lost"));
            self.lost += lost.count();
        }
        let bad = |line: &&String| {
            ["violation", "failed", "lost"]
                .iter()
                .any(|word| line.starts_with(word))
        };
        let trouble: Vec<_> = self.said.iter().filter(bad).collect();
        assert!(trouble.is_empty(), "{trouble:#?}, {stall:?}");
        let due = |passing: &Passing| passing.since.elapsed() > STAY;
        while let Some(index) = self.passing.iter().position(due) {
            let Passing {
                mut worker, way, ..
            } = self.passing.swap_remove(index);
            match way {
                Way::Killed => worker.kill9(),
                Way::Exits => worker.say("exit"),
                Way::Returns => worker.say("return"),
            }
            if way != Way::Killed {
                worker.ended();
            }
            self.gone += 1;
            self.admit();
        }
    }

    /// The process ids of the processes that stay to the end.
    pub(crate) fn steady(&self) -> impl Iterator<Item = u32> {
        self.steady.iter().map(|steady| steady.worker.pid())
    }

    /// Waits for the end of all contests, and returns a summary.
    pub(crate) fn end(mut self, stalls: &Stalls) -> String {
        // A task of the handoff contest may end slightly later than the others.
        while !self.steady.iter().all(|steady| steady.done) {
            self.look(stalls.within(2 * LEASE));
            thread::sleep(Duration::from_millis(20));
        }
        let turns = self.said.iter().filter_map(|line| {
            let figures = line.strip_prefix("task ")?;
            let turns = figures
                .split(' ')
                .find_map(|word| word.strip_prefix("turns="))?;
            turns.parse::<u64>().ok()
        });
        format!(
            "{} turns, {} processes came and went, {} holds lost to a machine that stood still",
            turns.sum::<u64>(),
            self.gone,
            self.lost
        )
    }
}
