//! Shows the calls of a client for a name to a [`Visitor`].

use core::time::Duration;

use super::call::Call;
use super::hold::Hold;
use super::send_log::SendLog;
use super::ticket::{Attempting, Held, Leaving, Ticket, TicketState, Waiting};
use super::{CallId, ClientTimes, State};
use crate::visit::{fencing, holder, instants};
use crate::{Instant, Retain, SharedStr, Visitor};

impl State<Call> {
    /// Shows the state to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl Visitor) {
        visitor.instant(&mut self.spared);
        if let Some(first) = &mut self.first_deadline {
            visitor.instant(first);
        }
        for waiter in &mut self.waiters {
            waiter.visit(visitor);
        }
        for ticket in &mut self.tickets {
            ticket.visit(visitor);
        }
        for query in &mut self.queries {
            query.op.visit(visitor);
            instants(
                [
                    &mut query.again,
                    &mut query.sent,
                    &mut query.deadline,
                    &mut query.latest,
                ],
                visitor,
            );
        }
        let (contention, crowd) = (&mut self.contention, &mut self.crowd);
        instants(
            [
                &mut contention.until,
                &mut contention.last_recall,
                &mut crowd.asked,
                &mut crowd.answered,
            ],
            visitor,
        );
        if crowd.admitted > CallId(0) {
            visitor.call(&mut crowd.admitted);
        }
    }

    /// Forgets what decides nothing any more: what is only shown, and times that are over. For clients whose calls wait
    /// without an end, also when they began to wait.
    pub fn forget(&mut self, now: Instant, client: &ClientTimes) {
        let waits_on = client.store_timeout == Duration::MAX;
        for waiter in &mut self.waiters {
            if waits_on && waiter.want.share.excludes_all() {
                waiter.started = Instant::START;
            }
        }
        for ticket in &mut self.tickets {
            ticket.forget(now, client, waits_on);
        }
        self.first_deadline
            .take_if(|first| *first == Instant::NEVER);
        let contention = &mut self.contention;
        if contention.until <= now {
            contention.until = Instant::START;
        }
    }
}

impl Call {
    /// Shows the call to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl Visitor) {
        visitor.call(&mut self.id);
        visitor.instant(&mut self.started);
    }
}

impl Ticket<Call> {
    fn forget(&mut self, now: Instant, client: &ClientTimes, waits_on: bool) {
        self.log.forget(now.before(self.lease));
        self.again = self.again.max(now);
        let mut is_alone = true;
        match &mut self.state {
            TicketState::Waiting(waiting) => {
                waiting.place = None;
                if let Some(holder) = &mut waiting.holder {
                    holder.meta = SharedStr::EMPTY;
                }
                if waits_on {
                    waiting.unanswered_since = Instant::START;
                }
                is_alone = waiting.share.excludes_all();
            }
            TicketState::Attempting(attempt) => {
                if waits_on {
                    attempt.caller.started = Instant::START;
                }
            }
            TicketState::Held(held) => {
                held.hold.since = Instant::START;
                held.hold.caller.started = Instant::START;
                held.hold.valid = held.hold.valid.max(now);
                held.leased = held.leased.max(now);
                if held.hold.parked_until <= now {
                    held.hold.parked_until = Instant::START;
                }
                if client.handoff.1 == Duration::MAX {
                    held.since = Instant::START;
                }
                if let Some(retention) = &mut held.retention {
                    retention.renew = retention.renew.max(now);
                }
            }
            TicketState::Leaving(leaving) => {
                leaving.sent = Instant::START;
                leaving.over = Instant::START;
                if self.pending.is_empty() {
                    (leaving.held, leaving.unanswered) = (false, false);
                }
                self.retain = Retain::No;
                if leaving.park_until <= now {
                    leaving.park_until = Instant::START;
                }
            }
        }
        if self.waiting().is_none() {
            self.last_grant = (0, 0);
        }
        if waits_on && is_alone {
            self.log.since = Instant::START;
        }
    }

    fn visit(&mut self, visitor: &mut impl Visitor) {
        let id = self.log.id;
        visitor.counter(id, &mut self.last_grant.0);
        visitor.token(&mut self.last_grant.1);
        visitor.instant(&mut self.again);
        for pending in &mut self.pending {
            visitor.counter(id, &mut pending.counter);
            visitor.instant(&mut pending.deadline);
        }
        match &mut self.state {
            TicketState::Waiting(waiting) => waiting.visit(visitor),
            TicketState::Attempting(attempt) => attempt.visit(visitor),
            TicketState::Held(held) => {
                visitor.counter(id, &mut held.granted);
                held.visit(visitor);
            }
            TicketState::Leaving(leaving) => leaving.visit(visitor),
        }
        self.log.visit(visitor);
    }
}

impl SendLog {
    fn visit(&mut self, visitor: &mut impl Visitor) {
        for (counter, at) in self.one.iter_mut().chain(&mut self.more) {
            visitor.counter(self.id, counter);
            visitor.instant(at);
        }
        visitor.counter(self.id, &mut self.last);
        visitor.instant(&mut self.since);
        visitor.ticket(&mut self.id);
    }

    /// Forgets the requests from before `from`.
    fn forget(&mut self, from: Instant) {
        self.one.take_if(|sent| sent.1 < from);
        self.more.retain(|sent| sent.1 >= from);
        if self.one.is_none() && !self.more.is_empty() {
            self.one = Some(self.more.remove(0));
        }
    }
}

impl Waiting {
    fn visit(&mut self, visitor: &mut impl Visitor) {
        if let Some(waiter) = &mut self.waiter {
            visitor.call(waiter);
        }
        visitor.instant(&mut self.unanswered_since);
        holder(&mut self.holder, visitor);
    }
}

impl Attempting<Call> {
    fn visit(&mut self, visitor: &mut impl Visitor) {
        self.caller.visit(visitor);
        if let Some(old) = &mut self.adopts {
            visitor.ticket(old);
        }
    }
}

impl Held<Call> {
    fn visit(&mut self, visitor: &mut impl Visitor) {
        self.hold.visit(visitor);
        instants([&mut self.since, &mut self.leased], visitor);
        visitor.token(&mut self.base);
        if let Some(retention) = &mut self.retention {
            visitor.instant(&mut retention.renew);
            if let Some(until) = &mut retention.until {
                visitor.instant(until);
            }
            fencing(&mut retention.from, visitor);
        }
    }
}

impl Hold<Call> {
    fn visit(&mut self, visitor: &mut impl Visitor) {
        self.caller.visit(visitor);
        fencing(&mut self.token, visitor);
        if let Some((valid, expires)) = &mut self.whole {
            instants([valid, expires], visitor);
        }
        instants(
            [
                &mut self.since,
                &mut self.valid,
                &mut self.expires,
                &mut self.parked_until,
            ],
            visitor,
        );
    }
}

impl Leaving {
    fn visit(&mut self, visitor: &mut impl Visitor) {
        instants(
            [&mut self.park_until, &mut self.over, &mut self.sent],
            visitor,
        );
        if let Some(used) = &mut self.used {
            visitor.token(used);
        }
    }
}
