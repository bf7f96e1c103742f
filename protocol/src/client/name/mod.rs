//! The calls of one client for one name: who waits, which tickets wait and hold for them in the store, and what each
//! event changes.
//!
//! [`State::on`] is one step. It reads no clock, sends nothing and wakes nobody: what comes of it is a list of
//! [`Effect`]s, in order. An answer that comes at once is a further input. One ticket waits in the store for the first
//! waiter, or several for waiters that could hold together. When it is granted, its waiter gets a [`Hold`].
//!
//! | file | what it decides |
//! |---|---|
//! | `ticket` | the states of a ticket, and its requests |
//! | `enter` | who comes, and who goes before it is served |
//! | `crowd` | which calls are too many |
//! | `places` | which waiters have a ticket |
//! | `answer`, `attempt` | what answers and messages mean |
//! | `grant` | who gets a grant, from the store or from another call |
//! | `retain` | whether the lock is kept after a call |
//! | `leave` | how holds end |
//! | `due` | what happens when nothing happens |
//! | `query` | questions about the name |

mod answer;
mod attempt;
mod crowd;
mod due;
mod enter;
mod grant;
mod leave;
mod places;
mod query;
mod retain;
mod send_log;
#[cfg(all(test, repository))]
mod tests;
mod ticket;
#[cfg(any(test, feature = "test-util"))]
mod visit;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::crowd::Crowd;
use self::query::Query;
use self::retain::Contention;
use self::ticket::{Ticket, TicketState};
use super::{AskId, CallId, Caller, ClientTimes, Effect, Env, Failure, Hold, Input};
use super::{call, hold, input};
use crate::{Instant, Limits, Op, Retain, Ticket as TicketId};

/// The calls of one client for one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<C> {
    /// Until this time, no waiter fails because the store does not answer.
    spared: Instant,
    /// At most the earliest deadline of `waiters`.
    first_deadline: Option<Instant>,
    /// In the order in which they came.
    waiters: VecDeque<C>,
    /// Those that wait have the same order as their waiters.
    tickets: Vec<Ticket<C>>,
    queries: Vec<Query>,
    contention: Contention,
    crowd: Crowd,
}

/// How much there is of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many holds.
    pub held: usize,
    /// How many calls wait.
    pub waiting: usize,
    /// When the oldest renewal was sent that has no answer yet.
    pub oldest_renewal: Option<Instant>,
}

impl Load {
    /// The load of two names.
    pub fn and(self, other: Self) -> Self {
        let renewals = [self.oldest_renewal, other.oldest_renewal];
        Self {
            held: self.held + other.held,
            waiting: self.waiting + other.waiting,
            oldest_renewal: renewals.into_iter().flatten().min(),
        }
    }
}

/// A transition while it runs.
struct Step<'a, 'b, C> {
    state: &'a mut State<C>,
    now: Instant,
    limits: &'b Limits,
    env: &'a mut Env<'b>,
    effects: &'a mut Vec<Effect<C>>,
}

impl<C> Default for State<C> {
    fn default() -> Self {
        Self {
            spared: Instant::START,
            first_deadline: None,
            waiters: VecDeque::new(),
            tickets: Vec::new(),
            queries: Vec::new(),
            contention: Contention::default(),
            crowd: Crowd::default(),
        }
    }
}

impl<C: Caller> State<C> {
    /// What an input changes, and what follows from it: added to `effects`, in order.
    #[inline]
    pub fn on(&mut self, input: Input<C>, env: &mut Env<'_>, effects: &mut Vec<Effect<C>>) {
        let mut step = Step {
            now: env.now,
            limits: env.limits,
            state: self,
            env,
            effects,
        };
        step.run(input);
        step.match_tickets();
    }

    /// Whether there is nothing to wait for.
    pub fn is_idle(&self) -> bool {
        self.is_over(Instant::START)
    }

    /// Whether there are no holds, no waiters, and no pending release of a lease that was still running at `now`.
    pub fn is_over(&self, now: Instant) -> bool {
        let over = |ticket: &Ticket<C>| match &ticket.state {
            TicketState::Leaving(leaving) => ticket.pending.is_empty() && leaving.over <= now,
            _ => false,
        };
        self.waiters.is_empty() && self.queries.is_empty() && self.tickets.iter().all(over)
    }

    /// Whether the state may be dropped: it is idle, and nothing of it must be remembered.
    pub fn is_forgettable(&self, now: Instant, limits: &Limits) -> bool {
        self.is_idle() && self.contention.remembered(limits) <= now
    }

    /// How much there is of everything.
    pub fn load(&self) -> Load {
        let attempts = self.tickets.iter().filter_map(Ticket::attempting);
        let held = self.tickets.iter().filter(|ticket| ticket.held().is_some());
        Load {
            held: held.clone().count(),
            waiting: self.waiters.len() + attempts.count(),
            oldest_renewal: held.filter_map(|ticket| ticket.log.unanswered()).min(),
        }
    }

    /// The waiters that have a place in the queue of this process, in order.
    pub fn waiters(&self) -> impl Iterator<Item = &C> + Clone {
        self.waiters.iter()
    }

    /// The calls that try, without a place in the queue.
    pub fn attempts(&self) -> impl Iterator<Item = &C> {
        let attempts = self.tickets.iter().filter_map(Ticket::attempting);
        attempts.map(|attempt| &attempt.caller)
    }

    /// The holds of this process, without a lock that is only kept.
    pub fn holds(&self) -> impl Iterator<Item = &Hold<C>> {
        let held = self.tickets.iter().filter_map(Ticket::held);
        held.map(|held| &held.hold)
    }

    /// When a request was sent that the store has answered now; `None` if nobody waits for the answer.
    pub fn sent_at(&self, ask: AskId, op: &Op) -> Option<Instant> {
        if let Some(lease) = op.lease() {
            return self.tickets[self.find(lease.ticket)?].log.at(lease.counter);
        }
        if let Op::Release { ticket, .. } = op {
            return match &self.tickets[self.find(*ticket)?].state {
                TicketState::Leaving(leaving) => Some(leaving.sent),
                _ => None,
            };
        }
        let query = self.queries.iter().find(|query| query.ask == ask)?;
        Some(query.sent)
    }

    /// The valid holds of an owner.
    pub fn held_by<'a>(
        &'a self,
        owner: &'a str,
        now: Instant,
    ) -> impl Iterator<Item = &'a Hold<C>> {
        self.holds().filter(move |hold| {
            hold.caller.want().owner.as_deref() == Some(owner) && hold.is_valid(now)
        })
    }

    /// The place of each waiting ticket in the store's queue, if it is known, in the order of the waiters.
    pub fn places(&self) -> impl Iterator<Item = Option<u64>> {
        let waiting = self.tickets.iter().filter_map(Ticket::waiting);
        waiting.map(|waiting| waiting.place)
    }

    /// The holder that the store has last named.
    pub fn holder(&self) -> Option<&crate::HolderRecord> {
        let mut waiting = self.tickets.iter().filter_map(Ticket::waiting);
        waiting.find_map(|waiting| waiting.holder.as_ref())
    }

    /// The ticket with this public half.
    pub fn ticket(&self, public: u64) -> Option<TicketId> {
        let mut tickets = self.tickets.iter().map(|ticket| ticket.log.id);
        tickets.find(|ticket| ticket.public() == public)
    }

    /// Whether the ticket waits; `None` if it is unknown.
    pub fn waits_with(&self, ticket: TicketId) -> Option<bool> {
        let index = self.find(ticket)?;
        Some(self.tickets[index].waiting().is_some())
    }

    /// The last ticket that waits before a call, or for it.
    pub fn waits_after(&self, call: CallId) -> Option<(&C, Option<TicketId>)> {
        let index = self.find_waiter(call)?;
        let tickets = self.tickets.iter();
        let waiting = tickets.filter(|ticket| ticket.waiting().is_some());
        let last = waiting.take(index + 1).last();
        Some((&self.waiters[index], last.map(|ticket| ticket.log.id)))
    }

    fn find(&self, id: TicketId) -> Option<usize> {
        self.tickets.iter().position(|ticket| ticket.log.id == id)
    }

    fn find_waiter(&self, call: CallId) -> Option<usize> {
        self.waiters
            .binary_search_by_key(&call, |waiter| waiter.id())
            .ok()
    }

    fn find_hold(&self, call: CallId) -> Option<usize> {
        let is_of = |ticket: &Ticket<C>| {
            ticket
                .held()
                .is_some_and(|held| held.hold.caller.id() == call)
        };
        self.tickets.iter().position(is_of)
    }
}

impl<C: Caller> Step<'_, '_, C> {
    #[inline]
    fn run(&mut self, input: Input<C>) {
        match input {
            Input::Enter(caller) => self.enter(caller),
            Input::Adopt { caller, old } => self.attempt(caller, Some(old), 1),
            Input::Leave { call, ask } => self.give_up(call, ask),
            Input::Dismiss { calls } => self.dismiss(&calls),
            Input::Release { hold, returns, ask } => self.release(hold, returns, ask),
            Input::Export { hold } => self.export(hold),
            Input::Renew { hold, ask, units } => self.renew(hold, ask, units),
            Input::Seen {
                hold,
                lost,
                expires,
                parked_until,
            } => self.seen(hold, lost, expires, parked_until),
            Input::Ask { ask, op } => self.ask(ask, op),
            Input::Answered { ask, op, result } => self.answer(ask, op, result),
            Input::Told(message) => self.told(&message),
            Input::Reconnected => self.reconnected(),
            Input::Forgotten => self.forgotten(),
            Input::Due { armed } => {
                if armed.until(self.now) > self.limits.suspended {
                    self.spare();
                }
                self.due();
            }
            Input::ReleaseKept => self.release_kept(),
            Input::Close(cause) => self.close(cause),
        }
    }

    fn submit(&mut self, op: Op) {
        self.submit_as(AskId(0), op);
    }

    fn submit_as(&mut self, ask: AskId, op: Op) {
        self.effects.push(Effect::Send { ask, op });
    }

    #[inline]
    fn send(&mut self, index: usize) {
        let client = self.env.client;
        let calls = self.state.calls_of(index);
        let ticket = &mut self.state.tickets[index];
        let mut op = ticket.request(calls, (self.now, client.lease), self.limits, self.effects);
        if client.skips
            && let Op::Acquire { share, .. } = &mut op
        {
            *share = share.without_units();
        }
        ticket.again = match &ticket.state {
            TicketState::Held(held) => held
                .kept_again()
                .unwrap_or_else(|| client.renewal_after(self.now)),
            _ => Instant::NEVER,
        };
        self.submit(op);
    }

    #[inline]
    fn begin(&mut self, lease: core::time::Duration, retains: bool, state: TicketState<C>) {
        let mut ticket = Ticket::new((self.env.ticket)(), self.now, lease, state);
        if retains {
            ticket.retain = Retain::InUse;
        }
        if self.state.tickets.capacity() == 0 {
            // Most names have one ticket.
            self.state.tickets.reserve_exact(1);
        }
        self.state.tickets.push(ticket);
        self.send(self.state.tickets.len() - 1);
    }
}
