//! Puts numbered items on a belt, or takes them, with a mutex and two condition variables.

use std::time::{Duration, Instant};

use auto_mutex::{Condvar, LockError, Mutex, MutexGuard};

use super::Contestant;
use crate::belt::{Belt, Deed, Outcome};

struct Task {
    own: Contestant,
    belt: Belt,
    mutex: Mutex,
    deed: Deed,
    /// The condition variable that this task waits for.
    mine: Condvar,
    /// The condition variable that this task notifies.
    theirs: Condvar,
    over: bool,
}

pub(super) async fn run(own: Contestant, witness: u16, bound: u32, puts: bool) {
    let belt = own.name.clone();
    let was_put = own.client.condvar(format!("{belt}-put"));
    let was_taken = own.client.condvar(format!("{belt}-taken"));
    let mut task = Task {
        mutex: own.client.mutex(&belt),
        belt: Belt::at(witness, belt, own.who.clone(), bound),
        deed: if puts { Deed::Put } else { Deed::Take },
        mine: if puts { &was_taken } else { &was_put }.clone(),
        theirs: if puts { was_put } else { was_taken },
        over: false,
        own,
    };
    // First wake all waiters: this task may replace a killed one that was woken but moved no item, or that notified no
    // waiter.
    let mut owes = true;
    while !task.over || owes {
        // Likewise after an error, because the task may have moved an item without notifying a waiter.
        let outcome = match owes {
            true => task.wake_all().await,
            false => task.turn().await,
        };
        owes = match outcome {
            Ok(()) => false,
            Err(error) => {
                task.own.trouble(error).await;
                true
            }
        };
        task.own.pause().await;
    }
    task.belt.flush();
    task.own.report();
}

impl Task {
    async fn turn(&mut self) -> Result<(), LockError> {
        let asked = Instant::now();
        let mut guard = self.mutex.lock().await?;
        if self.deed == Deed::Put && self.own.is_over() {
            self.deed = Deed::Close;
        }
        loop {
            let token = guard.fencing_token();
            let outcome = self.belt.step(token, self.deed);
            match outcome {
                Outcome::Done if self.deed == Deed::Close => {
                    self.over = true;
                    return self.wake_all().await;
                }
                Outcome::Done => {
                    self.own.tally.turns += 1;
                    self.own.tally.longest = self.own.tally.longest.max(asked.elapsed());
                    return self.tell(guard).await;
                }
                Outcome::Closed => {
                    self.over = true;
                    return Ok(());
                }
                Outcome::Full | Outcome::Empty => match self.wait(guard).await? {
                    Some(again) => guard = again,
                    None => return Ok(()),
                },
                Outcome::Stale if guard.check().is_ok() => {
                    let now = self.belt.now();
                    self.own.refused("a holder", &now);
                    return Ok(());
                }
                Outcome::Stale => return guard.check(),
            }
        }
    }

    /// Notifies one waiter or sometimes all, before or after the mutex is released.
    async fn tell(&mut self, guard: MutexGuard) -> Result<(), LockError> {
        let guard = (self.own.seed.below(2) == 0).then_some(guard);
        let count = match self.own.seed.below(16) {
            0 => self.theirs.notify_all().await?,
            _ => u64::from(self.theirs.notify_one().await?),
        };
        self.notified(count);
        drop(guard);
        if self.own.seed.below(4) == 0 {
            tokio::time::sleep(Duration::from_micros(self.own.seed.below(3000))).await;
        }
        Ok(())
    }

    /// Waits for a notification, mostly without a limit, sometimes only for a short time. Sometimes cancels the wait at
    /// a random moment, and loses its guard.
    async fn wait(&mut self, guard: MutexGuard) -> Result<Option<MutexGuard>, LockError> {
        let brief = Duration::from_micros(self.own.seed.below(5000));
        let (guard, woken) = match self.own.seed.below(16) {
            0 => match tokio::time::timeout(brief, self.mine.wait(guard)).await {
                Ok(guard) => (guard?, true),
                Err(_) => {
                    self.own.tally.cancelled += 1;
                    return Ok(None);
                }
            },
            1 => {
                let (guard, ended) = self.mine.wait_timeout(guard, brief).await?;
                (guard, !ended.timed_out())
            }
            _ => (self.mine.wait(guard).await?, true),
        };
        if woken {
            self.belt.woken();
        }
        Ok(Some(guard))
    }

    /// Reports a notification right away, before this process can be killed.
    fn notified(&mut self, count: u64) {
        self.belt.notified(count);
        self.belt.flush();
    }

    async fn wake_all(&mut self) -> Result<(), LockError> {
        for condvar in [self.mine.clone(), self.theirs.clone()] {
            let count = condvar.notify_all().await?;
            self.notified(count);
        }
        Ok(())
    }
}
