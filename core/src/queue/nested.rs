//! Waits of tasks that hold other locks, and their holds, as the search for deadlocks sees them.

use std::sync::{Arc, Weak};

use super::hold::Hold;
use super::lock_queue::{LockQueue, State};
use super::ticket::Ticket;
use super::waiter::{Patience, Waiter};
use crate::clock::Instant;
use crate::config::{Deadlock, Endpoint};
use crate::deadlock::{HeldLock, Registered, Wait, WaitId, Waiting, WaitingHold};
use crate::error::LockError;
use crate::store::Ticket as TicketId;

/// A waiter whose task holds locks.
struct NestedWait {
    queue: Weak<LockQueue>,
    waiter: Weak<Waiter>,
    client: u64,
    mode: Deadlock,
}

impl LockQueue {
    /// Makes the wait of `waiter` known to searches for deadlocks, if its task holds locks.
    pub(super) fn note_nested(self: &Arc<Self>, waiter: &Arc<Waiter>) {
        let want = &waiter.want;
        let Some(holds) = &want.by.holds else {
            return;
        };
        let settings = self.member().settings();
        let queues = matches!(want.patience, Patience::Queue(_));
        if !queues || settings.deadlock == Deadlock::Off {
            return;
        }
        let wait = NestedWait {
            queue: Arc::downgrade(self),
            waiter: Arc::downgrade(waiter),
            client: self.member().id(),
            mode: settings.deadlock,
        };
        let held = |hold: &Arc<Hold>| -> Arc<dyn HeldLock> { hold.clone() };
        let registered = Registered::new(Box::new(wait), holds.iter().map(held).collect());
        self.member().look_for_deadlock(registered.wait());
        let _ = waiter.nested.set(registered);
    }

    fn is_at(&self, endpoint: &Endpoint) -> bool {
        self.member().settings().endpoint.is_same_store(endpoint)
    }

    /// Ends the wait of `waiter` with `error`, if it still waits.
    fn fail_waiter(self: &Arc<Self>, waiter: &Arc<Waiter>, error: LockError) {
        self.step(|step| {
            if let Some(index) = step.state.find_waiter(waiter) {
                step.state.waiters.remove(index);
                waiter.fail(error, step.wakes);
            }
        });
    }
}

impl State {
    /// The ticket that serves the waiter at `index`. If it has none, the last ticket that serves an earlier waiter.
    fn ticket_up_to(&self, index: usize) -> Option<TicketId> {
        let waiting = self
            .tickets
            .iter()
            .filter(|ticket| ticket.waiting().is_some());
        // Waiting tickets are in the order of their waiters.
        waiting.take(index + 1).last().map(Ticket::id)
    }
}

impl Waiting for NestedWait {
    fn client(&self) -> u64 {
        self.client
    }

    fn mode(&self) -> Deadlock {
        self.mode
    }

    fn is_at(&self, endpoint: &Endpoint) -> bool {
        let queue = self.queue.upgrade();
        queue.is_some_and(|queue| queue.is_at(endpoint))
    }

    fn view(&self, id: WaitId) -> Option<Wait> {
        let (queue, waiter) = (self.queue.upgrade()?, self.waiter.upgrade()?);
        let state = queue.lock();
        let index = state.find_waiter(&waiter)?;
        Some(Wait {
            id,
            name: queue.name().clone(),
            units: waiter.want.share.units,
            after: state.ticket_up_to(index),
            waited: waiter.waited(Instant::now()),
            meta: waiter.want.meta.clone(),
            mode: self.mode,
        })
    }

    fn fail(&self, error: LockError) {
        if let (Some(queue), Some(waiter)) = (self.queue.upgrade(), self.waiter.upgrade()) {
            queue.fail_waiter(&waiter, error);
        }
    }
}

impl HeldLock for Hold {
    fn client(&self) -> u64 {
        self.client_id()
    }

    fn is_at(&self, endpoint: &Endpoint) -> bool {
        self.local().is_at(endpoint)
    }

    fn ticket(&self) -> TicketId {
        self.grant().ticket
    }

    fn view(&self) -> Option<WaitingHold> {
        let grant = self.grant();
        self.is_valid().then(|| WaitingHold {
            ticket: grant.ticket,
            token: grant.token,
            units: self.weight(),
            held: self.held(),
            meta: grant.meta.clone(),
            waits: Vec::new(),
        })
    }
}
