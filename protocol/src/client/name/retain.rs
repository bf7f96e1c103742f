//! Retention: after a call, the client keeps the lock for a while if nobody asks for it, and the next call enters
//! without a request to the store. `docs/protocol.md` has the rules.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::call::Caller;
use super::hold::{Grant, Hold, Via};
use super::input::Effect;
use super::send_log::SendLog;
use super::ticket::{Held, Pending, Ticket, TicketState};
use super::{State, Step};
use crate::{Instant, Lease, Limits, Op, Retain, TOKENS_OF_A_GRANT};

/// What a held ticket needs to be kept after the call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Retention {
    /// Until when the ticket is kept, if no call is inside.
    pub(super) until: Option<Instant>,
    /// What the store knows.
    told: Retain,
    /// Another client waits.
    recalled: bool,
    /// When to renew the short lease.
    pub(super) renew: Instant,
    /// The last fencing token that was used before the store gave the current range of tokens.
    pub(super) from: u64,
    /// Whether a request for more tokens has no answer yet.
    asked: bool,
    /// Whether the name counts as one that the client keeps.
    counted: bool,
}

impl Retention {
    /// For a grant with the fencing token `from`.
    pub(super) fn new(from: u64, renew: Instant) -> Box<Self> {
        Box::new(Self {
            until: None,
            told: Retain::InUse,
            recalled: false,
            renew,
            from,
            asked: false,
            counted: false,
        })
    }

    /// The store has answered with a new token for the ticket, whose last fencing token is `last`.
    pub(super) fn extend(&mut self, last: u64) {
        self.from = last;
        self.asked = false;
    }
}

/// When other clients asked for a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Contention {
    /// Until when the name is not kept.
    pub(super) until: Instant,
    pub(super) last_recall: Instant,
    pause: Duration,
}

impl Contention {
    fn recalled(&mut self, now: Instant, limits: &Limits) {
        let twice = self.last_recall > Instant::START
            && now < self.last_recall.after(limits.recalled_twice);
        let was_quiet = self.until.after(self.pause) <= now;
        self.last_recall = now;
        self.until = self.until.max(now.after(limits.contended));
        if twice {
            self.pause = match was_quiet {
                true => limits.pause,
                false => (self.pause * 2).clamp(limits.pause, limits.longest_pause),
            };
            self.until = now.after(self.pause);
        }
    }

    /// Until when the name must be remembered although it is idle.
    pub(super) fn remembered(&self, limits: &Limits) -> Instant {
        match self.last_recall {
            Instant::START => Instant::START,
            last => last
                .after(limits.recalled_twice)
                .max(self.until.after(self.pause)),
        }
    }
}

/// The last fencing token that belongs to a ticket whose latest token in the store is `base`.
fn last_token(base: u64, limits: &Limits) -> u64 {
    let first = base.saturating_mul(TOKENS_OF_A_GRANT);
    first.saturating_add(limits.tokens_used - 1)
}

/// Whether the lock of a call can be kept.
fn may_keep(caller: &impl Caller) -> bool {
    let want = caller.want();
    let is_alone = want.owner.is_none() && want.share.excludes_all();
    want.tenure.retain.is_some() && is_alone
}

impl<C: Caller> State<C> {
    fn kept(&self) -> Option<usize> {
        self.tickets.iter().position(Ticket::is_kept)
    }

    /// Whether the name counts as one that the client keeps.
    pub fn counts_as_kept(&self) -> bool {
        let counts = |ticket: &Ticket<C>| match &ticket.state {
            TicketState::Held(held) => held.retention.as_ref().is_some_and(|it| it.counted),
            _ => false,
        };
        self.tickets.iter().any(counts)
    }
}

impl<C: Caller> Step<'_, '_, C> {
    /// Whether a request for a call asks the store for a lock that can be kept.
    #[inline]
    pub(super) fn may_retain(&self, caller: &C) -> bool {
        may_keep(caller) && self.env.view.may_keep && self.state.contention.until <= self.now
    }

    pub(super) fn release_kept(&mut self) {
        if let Some(index) = self.state.kept() {
            self.withdraw(index);
        }
    }

    /// Another client holds the lock, or waits for it.
    pub(super) fn note_contention(&mut self) {
        let contention = &mut self.state.contention;
        contention.until = contention.until.max(self.now.after(self.limits.contended));
    }

    /// Keeps the lock, whose hold has just been released, if nobody asks for it. An awaited release is answered when
    /// the store knows that no call is inside: then other clients get the lock.
    #[inline]
    pub(super) fn keep(&mut self, index: usize, pending: &mut Option<Pending>) -> bool {
        let (now, limits, client) = (self.now, self.limits, self.env.client);
        let is_unwanted = self.is_unwanted() && self.state.waiters.is_empty();
        let ticket = &mut self.state.tickets[index];
        let Some(held) = ticket
            .held_mut()
            .filter(|held| is_unwanted && held.may_be_kept(now, limits))
        else {
            return false;
        };
        let (hold, until) = (
            &held.hold,
            now.after_all(held.hold.caller.want().tenure.retain),
        );
        let Some(retention) = &mut held.retention else {
            return false;
        };
        if !retention.counted && self.env.view.keeps_most {
            return false;
        }
        retention.counted = true;
        retention.until = Some(until);
        let (token, free) = (hold.token, u64::from(hold.caller.want().share.capacity));
        let few =
            last_token(held.base, limits) - token < token - retention.from && !retention.asked;
        let untold = retention.told != Retain::Kept && pending.is_some();
        let tells = few || untold || now.after(limits.claim.min(client.lease)) < held.leased;
        let tell = match retention.told {
            Retain::Kept => Instant::NEVER,
            _ => now.after(limits.tell),
        };
        ticket.again = retention.renew.min(tell).min(until);
        // A spare ticket would count as a waiter.
        self.withdraw_waiting();
        if tells {
            self.send(index);
        }
        if let Some(mut pending) = pending.take() {
            let ticket = &mut self.state.tickets[index];
            pending.counter = u64::from(ticket.log.count());
            ticket.pending.push(pending);
            if !untold {
                ticket.confirm(|_| true, || Ok(Some(free)), self.effects);
            }
        }
        true
    }

    /// Whether no call of this process polls for the lock, and the store and the client work as usual.
    fn is_unwanted(&self) -> bool {
        let env = &self.env;
        self.state.attempts().next().is_none()
            && env.view.may_keep
            && env.outage.is_none()
            && env.closed.is_none()
    }

    /// Enters with the kept ticket. If this call can't use it, releases it and returns the call.
    #[inline]
    pub(super) fn enter_kept(&mut self, caller: C) -> Option<C> {
        let Some(index) = self.state.kept() else {
            return Some(caller);
        };
        let (now, limits, is_unwanted) = (self.now, self.limits, self.is_unwanted());
        let ticket = &mut self.state.tickets[index];
        let id = ticket.log.id;
        if let TicketState::Held(held) = &mut ticket.state
            && is_unwanted
            && held.serves(&caller, now, limits)
            && let Some(retention) = &mut held.retention
        {
            let valid = held.hold.valid();
            let grant = Grant {
                ticket: id,
                token: held.hold.token + 1,
                valid,
                whole: false,
                attempts: caller.want().attempts.saturating_add(1),
                via: Via::Kept,
                signal: None,
                behind: None,
            };
            held.hold = Hold::new(caller.clone(), &grant, now);
            (held.since, held.handed) = (now, 0);
            retention.until = None;
            let tell = limits.tell.min(now.until(valid) / 4);
            ticket.again = retention.renew.min(now.after(tell));
            // No unit is free, because this call has all of them.
            ticket.confirm(|_| true, || Ok(Some(0)), self.effects);
            let beside = Vec::new();
            self.effects.push(Effect::Granted {
                caller,
                grant,
                beside,
            });
            return None;
        }
        self.withdraw(index);
        Some(caller)
    }

    /// Tells the store that the ticket is held like any other, with the full lease, before the process leaves it to
    /// another.
    pub(super) fn end_retention(&mut self, index: usize) {
        let held = self.state.tickets[index].held_mut();
        if let Some(retention) = held.and_then(|held| held.retention.as_mut()) {
            retention.recalled = true;
        }
        self.send(index);
    }

    pub(super) fn due_kept(&mut self, index: usize) {
        let (now, limits, is_unwanted) = (self.now, self.limits, self.is_unwanted());
        let ticket = &self.state.tickets[index];
        if !is_unwanted || !ticket.kept().is_some_and(|held| held.stays(now, limits)) {
            self.withdraw(index);
        } else if ticket.again <= now {
            self.send(index);
        }
    }

    /// Another client waits for the lock.
    pub(super) fn recalled(&mut self, index: usize) {
        let ticket = &mut self.state.tickets[index];
        if ticket.is_kept() {
            self.state.contention.recalled(self.now, self.limits);
            self.withdraw(index);
        } else if let Some(retention) = ticket.held_mut().and_then(|held| held.retention.as_mut())
            && !retention.recalled
        {
            retention.recalled = true;
            self.state.contention.recalled(self.now, self.limits);
            self.send(index);
        }
    }

    /// Before a question about the name: the store must know whether a call is inside.
    pub(super) fn tell_use(&mut self) {
        for index in 0..self.state.tickets.len() {
            if let TicketState::Held(held) = &self.state.tickets[index].state
                && let Some(retention) = &held.retention
                && (retention.told == Retain::Kept) != held.is_kept()
            {
                self.send(index);
            }
        }
    }
}

impl<C: Caller> Held<C> {
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        let retention = self.retention.as_ref();
        retention.is_some_and(|retention| retention.until.is_some())
    }

    /// The token after `last`, if it belongs to the ticket.
    pub(super) fn token_after(&self, last: u64, limits: &Limits) -> Option<u64> {
        (last < last_token(self.base, limits)).then_some(last + 1)
    }

    fn may_be_kept(&self, now: Instant, limits: &Limits) -> bool {
        let (hold, retention) = (&self.hold, self.retention.as_ref());
        hold.given_back().is_none()
            && !hold.is_signal
            && now.after(limits.least_left) < hold.valid()
            && hold.caller.want().tenure.retain.is_some()
            && retention.is_some_and(|retention| !retention.recalled)
    }

    /// Whether a call may enter.
    fn serves(&self, caller: &C, now: Instant, limits: &Limits) -> bool {
        let (last, next) = (self.hold.caller.want(), caller.want());
        may_keep(caller)
            && last.share == next.share
            && last.meta == next.meta
            && now.after(limits.least_left) < self.hold.valid()
            && self.token_after(self.hold.token, limits).is_some()
    }

    /// Whether a kept lock stays with the client.
    fn stays(&self, now: Instant, limits: &Limits) -> bool {
        let retention = self.retention.as_ref();
        let until = retention.and_then(|retention| retention.until);
        until.is_some_and(|until| now < until) && now.after(limits.least_left) < self.hold.valid()
    }

    /// The next touch of a kept ticket.
    #[inline]
    pub(super) fn kept_again(&self) -> Option<Instant> {
        let retention = self.retention.as_ref()?;
        Some(retention.renew.min(retention.until?))
    }

    /// Renews the lease: the full one while a call is inside, else the short one.
    pub(super) fn touch(
        &mut self,
        log: &mut SendLog,
        (now, place): (Instant, Duration),
        limits: &Limits,
        effects: &mut Vec<Effect<C>>,
    ) -> Op {
        let (units, kept) = (self.hold.given_back().unwrap_or(0), self.is_kept());
        // A dead keeper costs a waiter no more.
        let short = limits.claim.min(place);
        let hold = match kept {
            true => short,
            false => self.next_lease(now, place),
        };
        let lease = log.lease(now, hold, place);
        let Some(retention) = &mut self.retention else {
            return Op::Touch { lease, units };
        };
        if kept {
            if now.after(short) < self.leased {
                // The store ends the longer lease when it reads this request. Answers to earlier ones extend nothing.
                self.hold.cut(now.validity(short), effects);
                log.executed(lease.counter);
            }
            self.leased = now.after(short);
            retention.asked = true;
            retention.renew = now.next_multiple(short / 4);
        }
        retention.told = match (kept, retention.recalled) {
            (true, _) => Retain::Kept,
            (_, true) => Retain::No,
            _ => Retain::InUse,
        };
        let retain = retention.told;
        let lease = Lease { retain, ..lease };
        Op::Touch { lease, units }
    }
}
