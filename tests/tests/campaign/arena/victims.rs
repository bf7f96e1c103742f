//! Whom to harm.

use std::thread;
use std::time::{Duration, Instant};

use super::{Arena, PROCESSES, process};

/// How long to look for one that is inside.
const SOON: Duration = Duration::from_millis(300);

impl Arena {
    /// A worker to harm, suspended: mostly caught inside, where it hurts, sometimes any.
    pub(crate) fn victim(&mut self) -> usize {
        match self.seed.below(4) {
            0 => self.anyone(),
            _ => self.caught_or_anyone(Self::inside),
        }
    }

    /// The same for a contest of which the witness does not see who is inside: sometimes caught with the mutex.
    pub(crate) fn victim_holding(&mut self) -> usize {
        if self.seed.below(2) == 0 {
            return self.anyone();
        }
        self.caught_or_anyone(Self::holding)
    }

    fn caught_or_anyone(&mut self, find: fn(&Self) -> Vec<usize>) -> usize {
        let caught = self.caught(find);
        caught.unwrap_or_else(|| self.anyone())
    }

    fn anyone(&mut self) -> usize {
        let any = self.seed.below(PROCESSES as u64) as usize;
        self.workers[any].stop();
        any
    }

    /// A worker suspended while one of its tasks is inside.
    pub(crate) fn caught_inside(&mut self) -> usize {
        loop {
            match self.caught(Self::inside) {
                Some(caught) => return caught,
                // Nobody will be inside any more, and any will do.
                None if self.is_over() => return self.anyone(),
                None => self.look(),
            }
        }
    }

    /// A worker suspended while it is among those that `find` finds, if one is caught soon.
    fn caught(&mut self, find: fn(&Self) -> Vec<usize>) -> Option<usize> {
        let begun = Instant::now();
        while begun.elapsed() < SOON {
            let found = find(self);
            if found.is_empty() {
                thread::sleep(Duration::from_millis(2));
                continue;
            }
            let index = *self.seed.pick(&found);
            self.workers[index].stop();
            // It may have left before it stopped, but not after; a signal takes a moment.
            thread::sleep(Duration::from_millis(1));
            if find(self).contains(&index) {
                return Some(index);
            }
            self.workers[index].cont();
        }
        None
    }

    /// The workers, of those alive, that have a task inside.
    fn inside(&self) -> Vec<usize> {
        let who = self.witness.inside();
        let pids: Vec<_> = who.iter().map(|who| process(who)).collect();
        let is_inside = |index: &usize| {
            let pid = self.workers[*index].pid().to_string();
            pids.contains(&pid)
        };
        (0..self.workers.len()).filter(is_inside).collect()
    }

    /// The workers, of those alive, that have the mutex, going by what the store says.
    fn holding(&self) -> Vec<usize> {
        let info = self.observer.mutex(self.plan.name).blocking_info();
        let holders = info.map(|info| info.holders).unwrap_or_default();
        let is_holder = |index: &usize| {
            let pid = self.workers[*index].pid();
            holders.iter().any(|holder| holder.pid == pid)
        };
        (0..self.workers.len()).filter(is_holder).collect()
    }
}
