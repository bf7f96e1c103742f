//! Where one fault is tried on one lock: a server, a witness, three processes in a contest, and proxies before them where the
//! fault is one of the network.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::clock::Clock;
use auto_mutex_tests::events::eventually_within;
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::witness::{Turns, Witness};
use auto_mutex_tests::worker::{Setup, Worker};

use crate::locks::Lock;
use crate::needs::{Needs, Stay};
use crate::recovery::NEVER;

pub(crate) const LEASE: Duration = Duration::from_secs(1);
const PROCESSES: usize = 3;
const TASKS: usize = 2;
/// The longest pause between two turns of a task: with it they meet all the time, and leave the processors to others.
const PAUSE: Duration = Duration::from_millis(12);
/// How long to look for somebody who stays.
const SOON: Duration = Duration::from_secs(1);
/// Longer than anything takes: they are told when it is enough.
const ENDLESS: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct Field {
    pub(crate) lock: Lock,
    pub(crate) redis: Redis,
    pub(crate) witness: Witness,
    pub(crate) turns: Turns,
    pub(crate) seed: Seed,
    pub(crate) workers: Vec<Worker>,
    pub(crate) clock: Option<Arc<Clock>>,
    /// One before each worker, or none.
    pub(crate) proxies: Vec<Proxy>,
    /// What the workers said, the dead included.
    pub(crate) said: Vec<String>,
    /// When more than fencing tokens was not promised, by the witness' clock.
    pub(crate) excused: Vec<RangeInclusive<u64>>,
    options: Vec<&'static str>,
    stay: Stay,
}

impl Field {
    /// Starts everything, and lets them begin.
    pub(crate) fn open(lock: Lock, needs: Needs, seed: Seed) -> Self {
        let redis = Redis::with(match &needs.clock {
            Some(clock) => needs.server.clock(clock),
            None => needs.server,
        });
        let proxies = if needs.proxies { PROCESSES } else { 0 };
        let witness = Witness::new();
        let mut field = Self {
            lock,
            turns: Turns::from_now(witness.port()),
            witness,
            seed,
            workers: Vec::new(),
            proxies: (0..proxies).map(|_| Proxy::start(redis.port())).collect(),
            redis,
            clock: needs.clock,
            said: Vec::new(),
            excused: Vec::new(),
            options: needs.options,
            stay: needs.stay,
        };
        field.fill_up();
        field
    }

    /// Starts a worker in the place of each that is missing.
    pub(crate) fn fill_up(&mut self) {
        let port = |index| match self.proxies.get(index) {
            Some(proxy) => Proxy::port(proxy),
            None => self.redis.port(),
        };
        let missing = self.workers.len()..PROCESSES;
        let launched: Vec<_> = missing
            .map(|index| {
                let url = self.redis.url_at(port(index));
                let mut setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), url, LEASE);
                let options = self.options.iter().map(|&option| option.to_owned());
                setup.options.extend(options);
                setup.launch()
            })
            .collect();
        for mut worker in launched {
            worker.ready();
            worker.say(&format!(
                "contest {} l {} {TASKS} {} {} {} {}",
                self.lock.contest,
                ENDLESS.as_millis(),
                self.witness.port(),
                self.seed.below(u64::MAX),
                PAUSE.as_micros(),
                self.stay.millis(),
            ));
            self.workers.push(worker);
        }
    }

    /// The witness' clock.
    pub(crate) fn now(&self) -> u64 {
        self.witness.now()
    }

    /// The processes that live.
    pub(crate) fn alive(&self) -> Vec<u32> {
        self.workers.iter().map(Worker::pid).collect()
    }

    /// Somebody: mostly a process that has a task inside, where it hurts.
    pub(crate) fn victim(&mut self) -> usize {
        let inside = self.witness.inside();
        let has_one = |index: &usize| {
            let pid = format!("{}/", self.workers[*index].pid());
            inside.iter().any(|who| who.starts_with(&pid))
        };
        let found: Vec<_> = (0..self.workers.len()).filter(has_one).collect();
        if found.is_empty() || self.seed.below(4) == 0 {
            return self.seed.below(self.workers.len() as u64) as usize;
        }
        *self.seed.pick(&found)
    }

    /// Lets them go on until some moment: often one at which somebody stays inside.
    pub(crate) fn moment(&mut self) {
        self.pass(0, 300);
        if self.seed.below(4) == 0 {
            return;
        }
        let begun = Instant::now();
        let (mut before, mut entered) = (self.witness.inside(), self.witness.progress());
        while begun.elapsed() < SOON {
            self.pass(10, 20);
            let (now, progress) = (self.witness.inside(), self.witness.progress());
            // He may have left and come back; mostly he has not.
            if progress > entered && now.iter().any(|who| before.contains(who)) {
                return;
            }
            (before, entered) = (now, progress);
        }
    }

    /// Lets them go on for at least `least` milliseconds, and up to `more` longer.
    pub(crate) fn pass(&mut self, least: u64, more: u64) {
        thread::sleep(Duration::from_millis(least + self.seed.below(more)));
    }

    /// Lets them go on for somewhat longer than a lease.
    pub(crate) fn pass_a_lease(&mut self) {
        self.pass(LEASE.as_millis() as u64 + 200, 600);
    }

    /// What holders believe from `struck` on, for a lease, is not promised.
    pub(crate) fn excuse(&mut self, struck: u64) {
        let until = self.now() + LEASE.as_micros() as u64;
        self.excused.push(struck..=until);
    }

    pub(crate) fn listen(&mut self) {
        for worker in &self.workers {
            self.said.extend(std::iter::from_fn(|| worker.overhear()));
        }
    }

    /// Ends the contest: all leave, and shut down.
    pub(crate) fn close(&mut self) {
        for (word, answer) in [("enough", "done"), ("shutdown", "ok")] {
            let count = |said: &[String]| said.iter().filter(|line| *line == answer).count();
            self.workers.iter_mut().for_each(|worker| worker.say(word));
            eventually_within(NEVER, "all workers end", || {
                self.listen();
                count(&self.said) == self.workers.len()
            });
        }
    }
}
