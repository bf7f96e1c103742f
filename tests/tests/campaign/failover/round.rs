//! One round: processes hold a lock for seconds, the primary fails, and another server takes its place.

use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::events::{eventually, eventually_within};
use auto_mutex_tests::sentinel::Service;
use auto_mutex_tests::witness::{Turns, Witness};
use auto_mutex_tests::worker::{Setup, Worker};

use super::Precautions;
use super::fault::Fault;
use super::report::Outcome;
use crate::arena::process;

/// Longer than a failover takes, so that a holder's guard is still valid when the new primary could grant.
const LEASE: Duration = Duration::from_secs(5);
/// The duration that the workers are given. They never reach it, because the test ends the contest.
const ENDLESS: Duration = Duration::from_secs(24 * 3600);
/// How long workers tolerate a store that grants nothing: the sentinels of a busy machine may vote several times.
const PATIENT: Duration = Duration::from_secs(180);
const PROCESSES: usize = 3;
const TASKS: usize = 2;
/// How long to wait for a new grant that no replica receives: less than the second after which the sentinels fail over.
const SOON: Duration = Duration::from_millis(900);
/// The longest time for which a task holds the lock, in seconds.
const STAYS: u64 = 3;
/// The longest time for which a task of the `stranger` holds the lock, in seconds: the new primary grants the lock
/// within this time.
const STAYS_ON: u64 = 14;

pub(super) struct Field<'a> {
    service: &'a Service,
    precautions: Precautions,
    witness: Witness,
    turns: Turns,
    workers: Vec<Worker>,
}

impl<'a> Field<'a> {
    /// Starts the witness and the workers, and begins the contest.
    pub(super) fn open(service: &'a Service, precautions: Precautions) -> Self {
        let witness = Witness::new();
        let mut field = Self {
            service,
            precautions,
            turns: Turns::from_now(witness.port()),
            witness,
            workers: Vec::new(),
        };
        let setup = field.setup(service.url());
        field.workers = (0..PROCESSES)
            .map(|index| {
                let mut setup = setup.clone();
                // Some keep what nobody else asks for. With `replicas`, that is refused.
                if index % 2 == 0 && !precautions.wait {
                    setup.options.push("retain=0.5".to_owned());
                }
                setup.launch()
            })
            .collect();
        for worker in &field.workers {
            worker.ready();
        }
        for seed in 0..PROCESSES {
            begin(&mut field.workers[seed], &field.witness, STAYS, seed);
        }
        field
    }

    fn setup(&self, url: String) -> Setup {
        let mut setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), url, LEASE);
        let patience = format!("store_timeout={}", PATIENT.as_secs());
        setup.options.push(patience);
        if !self.precautions.guard {
            setup.options.push("unguarded".to_owned());
        }
        if self.precautions.wait {
            setup.options.push("replicas=1:0.3".to_owned());
        }
        setup
    }

    /// Starts a worker that cannot learn of a new primary, because it knows only the address of this one.
    fn stranger(&self, primary: usize) -> Worker {
        let mut worker = self.setup(self.service.server(primary).url()).start();
        begin(&mut worker, &self.witness, STAYS_ON, PROCESSES);
        worker
    }

    pub(super) fn round(mut self, fault: Fault) -> Outcome {
        let service = self.service;
        let former = service.wait_for_primary();
        let stranger = (fault == Fault::CutOff).then(|| self.stranger(former));
        eventually("they take turns", || self.witness.progress() > 20);
        if let Some(stranger) = &stranger {
            let pid = stranger.pid().to_string();
            eventually("the stranger is inside", || {
                let inside = self.witness.inside();
                inside.iter().any(|who| process(who) == pid)
            });
        }
        fault.prepare(service, former);
        if fault != Fault::CutOff {
            self.wait_for_another();
        }
        let struck = Instant::now();
        fault.strike(service, former);
        service.wait_until_replaced(former);
        let first_grant = self.first_grant(struck);
        let mut said = self.finish();
        // The stranger's lost requests do not count, because no sentinel can help it. What it reports about locks does.
        if let Some(stranger) = stranger {
            let lines = std::iter::from_fn(|| stranger.overhear());
            said.extend(lines.filter(|line| !line.starts_with("task ")));
        }
        fault.repair(service, former);
        let verdict = self.witness.verdict();
        let figure = |figure: &str| {
            let reports = said.iter().filter(|line| line.starts_with("task "));
            let words = reports.flat_map(|line| line.split(' '));
            let values = words.filter_map(|word| word.strip_prefix(figure)?.strip_prefix('='));
            values
                .map(|value| value.parse::<u64>().expect("a number"))
                .sum::<u64>()
        };
        let lost_requests = figure("unavailable");
        let losses = said.iter().filter(|line| line.starts_with("lost "));
        let losses = losses.count();
        said.retain(|line| line.starts_with("violation") || line.starts_with("failed"));
        Outcome {
            overlaps: verdict.overlaps.len(),
            token_faults: verdict.token_faults.len(),
            refused: verdict.stale_writes,
            violations: said,
            lost_requests,
            losses,
            first_grant,
        }
    }

    /// Waits until another task holds the lock, by a grant that the replicas do not have. The wait has a limit, because
    /// the tasks may be delayed.
    fn wait_for_another(&self) {
        let (before, begun) = (self.witness.inside(), Instant::now());
        while begun.elapsed() < SOON {
            let inside = self.witness.inside();
            if !inside.is_empty() && inside != before {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for a turn that begins now. Returns the time since the fault.
    fn first_grant(&mut self, struck: Instant) -> Duration {
        self.turns.look();
        let workers: Vec<_> = self.workers.iter().map(|it| it.pid().to_string()).collect();
        eventually_within(PATIENT, "the new primary grants", || {
            let mut turns = self.turns.look().into_iter();
            turns.any(|turn| workers.contains(&process(&turn.who)))
        });
        struck.elapsed()
    }

    /// Ends the contest, and returns the workers' lines.
    fn finish(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        self.workers.iter_mut().for_each(|it| it.say("enough"));
        for worker in &self.workers {
            eventually_within(PATIENT, "the worker is done", || {
                while let Some(line) = worker.overhear() {
                    if line == "done" {
                        return true;
                    }
                    said.push(line);
                }
                false
            });
        }
        said
    }
}

fn begin(worker: &mut Worker, witness: &Witness, stays: u64, seed: usize) {
    let (millis, port) = (ENDLESS.as_millis(), witness.port());
    worker.say(&format!(
        "contest long:{stays} m {millis} {TASKS} {port} {seed}"
    ));
}
