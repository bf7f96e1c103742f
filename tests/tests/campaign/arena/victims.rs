//! Chooses workers to harm, and suspends them.

use std::thread;
use std::time::{Duration, Instant};

use super::{Arena, PROCESSES, process};

/// How long to look for a worker in the wanted state.
const SOON: Duration = Duration::from_millis(300);

impl Arena {
    /// Suspends a worker that the test will harm, mostly while one of its tasks holds the lock. Returns its index.
    pub(crate) fn victim(&mut self) -> usize {
        match self.seed.below(4) {
            0 => self.anyone(),
            _ => self.caught().unwrap_or_else(|| self.anyone()),
        }
    }

    fn anyone(&mut self) -> usize {
        let any = self.seed.below(PROCESSES as u64) as usize;
        self.workers[any].stop();
        any
    }

    /// Suspends a worker while one of its tasks holds the lock, and returns its index.
    pub(crate) fn caught_inside(&mut self) -> usize {
        loop {
            match self.caught() {
                Some(caught) => return caught,
                // The contest is over and no task will hold the lock, so any worker will do.
                None if self.is_over() => return self.anyone(),
                None => self.look(),
            }
        }
    }

    /// Suspends a worker that is inside before and after the suspension; `None` if no worker is caught soon.
    fn caught(&mut self) -> Option<usize> {
        let begun = Instant::now();
        while begun.elapsed() < SOON {
            let found = self.inside();
            if found.is_empty() {
                thread::sleep(Duration::from_millis(2));
                continue;
            }
            let index = *self.seed.pick(&found);
            self.workers[index].stop();
            // The task may have left between `find` and the stop without the server having read it. The server may then
            // say so wrongly once, but not twice.
            if self.inside().contains(&index) && self.inside().contains(&index) {
                return Some(index);
            }
            self.workers[index].cont();
        }
        None
    }

    /// The living workers with a task that, according to the witness, holds the lock.
    fn inside(&self) -> Vec<usize> {
        let who = self.witness.inside();
        let pids: Vec<_> = who.iter().map(|who| process(who)).collect();
        let is_inside = |index: &usize| {
            let pid = self.workers[*index].pid().to_string();
            pids.contains(&pid)
        };
        (0..self.workers.len()).filter(is_inside).collect()
    }
}
