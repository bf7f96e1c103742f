//! Whom to harm.

use std::thread;
use std::time::Duration;

use auto_mutex_tests::events::eventually;

use super::{Arena, PROCESSES, process};

impl Arena {
    /// A worker to harm, suspended: mostly caught inside, where it hurts, sometimes any.
    pub(crate) fn victim(&mut self) -> usize {
        match self.seed.below(4) {
            0 => self.anyone(),
            _ => self.caught_inside(),
        }
    }

    /// The same for a contest of which the witness does not see who is inside: sometimes caught with the mutex.
    pub(crate) fn victim_holding(&mut self) -> usize {
        if self.seed.below(2) == 0 {
            return self.anyone();
        }
        self.caught(Self::holding)
    }

    fn anyone(&mut self) -> usize {
        let awake: Vec<_> = (0..PROCESSES)
            .filter(|&index| self.is_awake(index))
            .collect();
        let any = *self.seed.pick(&awake);
        self.workers[any].stop();
        any
    }

    /// Suspends one inside, until [`wake_suspended`](Self::wake_suspended); meanwhile it is nobody's victim.
    pub(crate) fn suspend_inside(&mut self) {
        let index = self.caught_inside();
        self.suspended = Some(self.workers[index].pid());
    }

    pub(crate) fn wake_suspended(&mut self) {
        let pid = self.suspended.take();
        let mut workers = self.workers.iter();
        if let Some(worker) = workers.find(|worker| Some(worker.pid()) == pid) {
            worker.cont();
        }
    }

    fn is_awake(&self, index: usize) -> bool {
        Some(self.workers[index].pid()) != self.suspended
    }

    /// A worker suspended while one of its tasks is inside.
    pub(crate) fn caught_inside(&mut self) -> usize {
        self.caught(Self::inside)
    }

    /// A worker suspended while it is among those that `find` finds.
    fn caught(&mut self, find: fn(&Self) -> Vec<usize>) -> usize {
        let mut caught = None;
        eventually("a worker is caught inside", || {
            let found = find(self);
            let one = (!found.is_empty()).then(|| *self.seed.pick(&found));
            caught = one.filter(|&index| {
                self.workers[index].stop();
                // It may have left before it stopped, but not after; a signal takes a moment.
                thread::sleep(Duration::from_millis(1));
                let still = find(self).contains(&index);
                if !still {
                    self.workers[index].cont();
                }
                still
            });
            // Over: nobody will be inside any more, and any will do.
            caught.is_some() || self.is_over()
        });
        caught.unwrap_or_else(|| {
            let any = (0..PROCESSES).find(|&index| self.is_awake(index));
            let any = any.expect("one sleeps at most");
            self.workers[any].stop();
            any
        })
    }

    /// The workers, of those alive and awake, that have a task inside.
    fn inside(&self) -> Vec<usize> {
        let who = self.witness.inside();
        let pids: Vec<_> = who.iter().map(|who| process(who)).collect();
        let is_inside = |index: &usize| {
            let pid = self.workers[*index].pid().to_string();
            self.is_awake(*index) && pids.contains(&pid)
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
