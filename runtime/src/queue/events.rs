//! The client's calls to the queue of a name. Some calls report an event: an answer, a message, a timer, draining,
//! shutdown. The others ask for the state: what is held, how long renewals take, which tickets are here.

use std::collections::HashSet;
use std::sync::Arc;

use super::due::STOOD_STILL;
use super::lock_queue::LockQueue;
use super::ticket::{Ticket, TicketState};
use crate::clock::Instant;
use crate::error::{LockError, LossCause};
use crate::member::{ClientCore, HeldName, Load, NameQueue};
use crate::name::Name;
use crate::store::{Answer, Message, Ticket as TicketId};
use crate::task::TaskId;

impl NameQueue for LockQueue {
    fn new(name: Name, member: Arc<ClientCore<Self>>) -> Arc<Self> {
        Arc::new(Self::of(name, member))
    }

    fn name(&self) -> &Name {
        self.name()
    }

    fn due(self: &Arc<Self>, armed: Instant) -> bool {
        self.step(|step| {
            if step.state.armed.is_none_or(|current| current != armed) {
                return true;
            }
            step.state.armed = None;
            if armed.until(step.now) > STOOD_STILL {
                step.spare();
            }
            step.due();
            !step.state.is_idle()
        })
        .unwrap_or(true)
    }

    fn answered(self: &Arc<Self>, answer: Answer) {
        self.step(|step| step.answer(answer));
    }

    fn told(self: &Arc<Self>, message: &Message) {
        self.step(|step| step.told(message));
    }

    fn reconnected(self: &Arc<Self>) {
        self.step(|step| step.reconnected());
    }

    fn disconnected(self: &Arc<Self>) {
        self.step(|_| {});
    }

    fn retire(&self) -> bool {
        let mut state = self.lock();
        state.retired |= state.is_idle();
        state.retired
    }

    fn is_done(&self) -> bool {
        self.lock().is_idle()
    }

    fn is_over(&self) -> bool {
        self.lock().is_over(Instant::now())
    }

    fn load(&self) -> Load {
        let state = self.lock();
        let held = || {
            state
                .tickets
                .iter()
                .filter(|ticket| ticket.held().is_some())
        };
        let attempting = |ticket: &&Ticket| ticket.attempting().is_some();
        Load {
            held: held().count(),
            waiting: state.waiters.len() + state.tickets.iter().filter(attempting).count(),
            oldest_renewal: held().filter_map(|ticket| ticket.log.unanswered()).min(),
        }
    }

    fn knows(&self, ticket: TicketId) -> bool {
        self.lock().find(ticket).is_some()
    }

    fn waits_with(&self, ticket: TicketId) -> bool {
        let state = self.lock();
        let found = state.find(ticket).map(|index| &state.tickets[index]);
        found.is_some_and(|ticket| ticket.waiting().is_some())
    }

    fn held(&self) -> Vec<HeldName> {
        let (state, now) = (self.lock(), Instant::now());
        let held = state.tickets.iter().filter_map(Ticket::held);
        held.map(|held| HeldName {
            name: self.name().clone(),
            meta: held.hold.grant().meta.clone(),
            held: held.hold.since().until(now),
            taken_by: held.hold.taken(),
        })
        .collect()
    }

    fn drain(self: &Arc<Self>, holders: &HashSet<TaskId>) {
        let has_taken = |task| holders.contains(&task);
        self.step(|step| {
            step.fail(&LockError::ShutDown, |want| !want.by.is_nested(has_taken));
        });
    }

    fn close(self: &Arc<Self>) {
        self.step(|step| {
            step.fail_all(&LockError::ShutDown);
            for index in 0..step.state.tickets.len() {
                if let Some(held) = step.state.tickets[index].held() {
                    let valid = held.hold.is_valid();
                    let park = valid.then(|| held.hold.park(step.now));
                    step.lose_but_keep(index, LossCause::ShutDown, park.unwrap_or_default());
                }
            }
        });
    }

    fn abandon(self: &Arc<Self>) {
        self.close();
        self.step(|step| {
            for ticket in std::mem::take(&mut step.state.tickets) {
                if let TicketState::Leaving(leaving) = ticket.state
                    && let Some((_, unlocker)) = leaving.unlocker
                {
                    let _ = unlocker.complete(Err(LockError::ShutDown), step.wakes);
                }
            }
            for query in std::mem::take(&mut step.state.queries) {
                let _ = query.promise.complete(Err(LockError::ShutDown), step.wakes);
            }
            step.state.retired = true;
        });
    }
}
