//! Retention: after a call, the client keeps the lock for a while if nobody asks for it, and the next call enters
//! without a request to the store. `docs/protocol.md` has the rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::grant::{Grant, SHORTEST, Via};
use super::hold::Hold;
use super::lock_queue::{LockQueue, State, Transition};
use super::send_log::SendLog;
use super::ticket::{Held, Pending, Ticket, TicketState};
use super::waiter::Want;
use crate::base::clock::Instant;
use crate::base::error::{StoreError, StoreErrorKind};
use crate::queue::answer::RETRY;
use crate::store::limits::{CLAIM_MS, TOKENS_OF_A_GRANT};
use crate::store::{Lease, Op, Reply, Retain};

/// The most names that a client keeps.
const MOST: usize = 1024;
/// How soon the store learns that a call is inside, or that the lock is kept. Calls in quick succession tell nothing.
const TELL: Duration = Duration::from_millis(20);
/// For how long a name is not kept after another client held it or asked for it.
const CONTENDED: Duration = Duration::from_millis(100);
const TWICE_WITHIN: Duration = Duration::from_secs(1);
/// For how long a name is not kept after two recalls within [`TWICE_WITHIN`]. Doubles up to `LONGEST_PAUSE`.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// What a held ticket needs to be kept after the call.
#[derive(Debug)]
pub(super) struct Retention {
    /// What the store knows.
    told: Retain,
    /// Another client waits.
    recalled: bool,
    /// When to renew the short lease.
    renew: Instant,
    /// The last fencing token that was used before the store gave the current range of tokens.
    from: u64,
    /// Whether a request for more tokens has no answer yet.
    asked: bool,
    counted: Option<Counted>,
}

/// A ticket that the client keeps although no call is inside.
#[derive(Debug)]
pub(super) struct Kept {
    /// The last hold, whose memory the next one uses.
    hold: Arc<Hold>,
    granted: u64,
    leased: Instant,
    base: u64,
    valid: Instant,
    until: Instant,
    /// The length of its lease.
    short: Duration,
    retention: Box<Retention>,
}

/// When other clients asked for a name.
#[derive(Debug, Default)]
pub(super) struct Contention {
    until: Instant,
    /// Rarely needed, and names are many.
    recalls: Option<Box<Recalls>>,
}

#[derive(Debug)]
struct Recalls {
    last: Instant,
    pause: Duration,
    paused: Instant,
}

/// How many names the client keeps.
#[derive(Debug, Default)]
pub(crate) struct KeptNames(AtomicUsize);

#[derive(Debug)]
struct Counted(Arc<KeptNames>);

impl Counted {
    fn new(kept: &Arc<KeptNames>) -> Option<Self> {
        let counted = Self(kept.clone());
        (kept.0.fetch_add(1, Ordering::Relaxed) < MOST).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Retention {
    /// For a grant with the fencing token `from`.
    pub(super) fn new(from: u64, renew: Instant) -> Box<Self> {
        Box::new(Self {
            told: Retain::InUse,
            recalled: false,
            renew,
            from,
            asked: false,
            counted: None,
        })
    }

    /// What a renewal tells the store while a call is inside.
    pub(super) fn in_use(&mut self) -> Retain {
        self.told = match self.recalled {
            true => Retain::No,
            false => Retain::InUse,
        };
        self.told
    }

    /// The store has answered with a new token for the ticket, whose last fencing token is `last`.
    pub(super) fn extend(&mut self, last: u64) {
        self.from = last;
        self.asked = false;
    }
}

/// The last fencing token that belongs to a ticket whose latest token in the store is `base`.
fn last_token(base: u64) -> u64 {
    (base + 1).saturating_mul(TOKENS_OF_A_GRANT) - 1
}

impl Held {
    /// The token after `last`, if it belongs to the ticket.
    pub(super) fn token_after(&self, last: u64) -> Option<u64> {
        (last < last_token(self.base)).then_some(last + 1)
    }
}

impl Contention {
    fn note(&mut self, now: Instant) {
        self.until = now.after(CONTENDED);
    }

    fn recalled(&mut self, now: Instant) {
        self.note(now);
        let Some(recalls) = &mut self.recalls else {
            let (last, pause, paused) = (now, PAUSE, Instant::START);
            self.recalls = Some(Box::new(Recalls {
                last,
                pause,
                paused,
            }));
            return;
        };
        if now < recalls.last.after(TWICE_WITHIN) && recalls.paused <= now {
            if recalls.forgotten() <= now {
                recalls.pause = PAUSE;
            }
            recalls.paused = now.after(recalls.pause);
            recalls.pause = LONGEST_PAUSE.min(recalls.pause * 2);
        }
        recalls.last = now;
    }

    /// Until when the name is not kept.
    pub(super) fn pause(&self) -> Instant {
        let recalls = self.recalls.as_ref();
        recalls.map_or(self.until, |recalls| recalls.paused.max(self.until))
    }

    /// Until when the name must be remembered although it is idle.
    pub(super) fn remembered(&self) -> Option<Instant> {
        let recalls = self.recalls.as_ref()?;
        Some(recalls.forgotten().max(recalls.last.after(TWICE_WITHIN)))
    }
}

impl Recalls {
    /// When the pauses start again with the shortest: after a quiet time as long as the next one.
    fn forgotten(&self) -> Instant {
        match self.paused {
            Instant::START => Instant::START,
            paused => paused.after(self.pause),
        }
    }
}

impl LockQueue {
    /// The lease of a kept lock: a dead keeper costs a waiter no more.
    fn short_lease(&self) -> Duration {
        self.lease().min(Duration::from_millis(CLAIM_MS))
    }

    /// Releases the lock if it is kept.
    pub(super) fn release_kept(self: &Arc<Self>) {
        self.step(|step| step.release_kept());
    }
}

impl State {
    pub(super) fn kept(&self) -> Option<usize> {
        let is_kept = |ticket: &Ticket| matches!(ticket.state, TicketState::Kept(_));
        self.tickets.iter().position(is_kept)
    }
}

impl Transition<'_> {
    /// Whether a request for `want` asks the store for a lock that can be kept.
    pub(super) fn may_retain(&self, want: &Want) -> bool {
        may_keep(want) && self.queue.core.may_keep() && self.state.contention.pause() <= self.now
    }

    pub(super) fn release_kept(&mut self) {
        if let Some(index) = self.state.kept() {
            self.withdraw(index);
        }
    }

    /// Another client holds the lock, or waits for it.
    pub(super) fn note_contention(&mut self) {
        if self.queue.core.settings().retains() {
            self.state.contention.note(self.now);
        }
    }

    /// Keeps the lock, whose hold has just been released, if nobody asks for it. An awaited release is answered when the
    /// store knows that no call is inside: then other clients get the lock.
    pub(super) fn keep(&mut self, index: usize, pending: &mut Option<Pending>) -> bool {
        let is_free = self.is_unwanted() && self.state.waiters.is_empty();
        let (now, short, kept) = (self.now, self.queue.short_lease(), &self.queue.core.kept);
        let ticket = &mut self.state.tickets[index];
        let Some(retention) = ticket.held_mut().and_then(|held| held.may_be_kept(now)) else {
            return false;
        };
        if !is_free {
            return false;
        }
        retention.counted = retention.counted.take().or_else(|| Counted::new(kept));
        if retention.counted.is_none() {
            return false;
        }
        let Some(held) = ticket.take_held() else {
            return false;
        };
        let Some(retention) = held.retention else {
            return false;
        };
        let (hold, base) = (held.hold, held.base);
        let (token, until) = (hold.grant.token, now.after(hold.want().terms.retain));
        let few = last_token(base) - token < token - retention.from && !retention.asked;
        let tell = match retention.told {
            Retain::Kept => Instant::NEVER,
            _ => now.after(TELL),
        };
        ticket.again = retention.renew.min(tell).min(until);
        ticket.state = TicketState::Kept(Kept {
            valid: hold.valid(),
            hold,
            granted: held.granted,
            leased: held.leased,
            base,
            until,
            short,
            retention,
        });
        // A spare ticket would count as a waiter.
        self.withdraw_waiting();
        let untold = tell != Instant::NEVER && pending.is_some();
        if few || untold || now.after(short) < held.leased {
            self.send(index);
        }
        if let Some(mut pending) = pending.take() {
            let ticket = &mut self.state.tickets[index];
            pending.counter = u64::from(ticket.log.count());
            ticket.pending.push(pending);
            if !untold {
                self.confirm_kept(index, u64::MAX);
            }
        }
        true
    }

    /// Answers the releases that the store knows of since its answer to request `counter`.
    fn confirm_kept(&mut self, index: usize, counter: u64) {
        let ticket = &mut self.state.tickets[index];
        if let TicketState::Kept(kept) = &ticket.state {
            let free = u64::from(kept.hold.want().share.capacity);
            let is_done = |asked: &Pending| asked.counter <= counter;
            ticket.answer(is_done, || Ok(Some(free)), self.wakes);
        }
    }

    /// Tells the store that the ticket is held like any other, with the full lease, before the process leaves it to another.
    pub(super) fn end_retention(&mut self, index: usize) {
        let held = self.state.tickets[index].held_mut();
        if let Some(retention) = held.and_then(|held| held.retention.as_mut()) {
            retention.recalled = true;
            self.send(index);
        }
    }

    /// Whether no call of this process polls for the lock, and the store and the client work as usual.
    fn is_unwanted(&self) -> bool {
        let (core, name) = (&self.queue.core, &self.queue.name);
        let mut tickets = self.state.tickets.iter();
        !tickets.any(|ticket| ticket.attempting().is_some())
            && core.may_keep()
            && core.outage(name).is_none()
            && core.closed(name).is_none()
    }

    /// Enters with the kept ticket, or releases it if this call can't use it.
    #[inline]
    pub(super) fn enter_kept(&mut self, want: &Want) -> Option<Arc<Hold>> {
        let index = self.state.kept()?;
        match self.take_kept(index, want) {
            None => {
                self.withdraw(index);
                None
            }
            hold => hold,
        }
    }

    fn take_kept(&mut self, index: usize, want: &Want) -> Option<Arc<Hold>> {
        let (now, may_enter) = (self.now, may_keep(want) && self.is_unwanted());
        let ticket = &mut self.state.tickets[index];
        let kept = ticket.take_kept(|kept| may_enter && kept.serves(want, now))?;
        let grant = Grant {
            ticket: ticket.log.id,
            token: kept.hold.grant.token + 1,
            valid: kept.valid,
            whole: false,
            attempts: want.attempts,
            via: Via::Kept,
            signal: None,
            behind: None,
        };
        // No unit is free, because this call has all of them.
        ticket.answer(|_| true, || Ok(Some(0)), self.wakes);
        let tell = now.after(TELL.min(now.until(kept.valid) / 4));
        ticket.again = kept.retention.renew.min(tell);
        let hold = Hold::again(kept.hold, want, grant, now);
        ticket.state = TicketState::Held(Held {
            hold: hold.clone(),
            granted: kept.granted,
            since: now,
            leased: kept.leased,
            base: kept.base,
            handed: 0,
            owned: false,
            forced: false,
            bounds: Vec::new(),
            retention: Some(kept.retention),
        });
        Some(hold)
    }

    pub(super) fn due_kept(&mut self, index: usize) {
        let (now, is_unwanted) = (self.now, self.is_unwanted());
        let ticket = &self.state.tickets[index];
        let TicketState::Kept(kept) = &ticket.state else {
            return;
        };
        if kept.until <= now || kept.valid <= now.after(SHORTEST) || !is_unwanted {
            self.withdraw(index);
        } else if ticket.again <= now {
            self.send(index);
        }
    }

    pub(super) fn answer_kept(
        &mut self,
        index: usize,
        lease: Lease,
        result: Result<Reply, StoreError>,
    ) {
        let ticket = &mut self.state.tickets[index];
        let TicketState::Kept(kept) = &mut ticket.state else {
            return;
        };
        kept.retention.asked = false;
        match result {
            Ok(Reply::Granted { token, .. }) if token >= kept.base => {
                if let Some(sent) = ticket.log.at(lease.counter) {
                    kept.valid = kept.valid.max(sent.validity(lease.hold));
                }
                ticket.log.executed(lease.counter);
                kept.base = token;
                kept.retention.extend(kept.hold.grant.token);
                self.confirm_kept(index, lease.counter);
            }
            Err(error) if error.kind() != StoreErrorKind::Foreign => {
                ticket.again = ticket.again.min(self.now.after(RETRY));
            }
            // No call is inside, so nobody needs to know that the lock is lost.
            _ => self.withdraw(index),
        }
    }

    /// Another client waits for the lock.
    pub(super) fn recalled(&mut self, index: usize) {
        self.state.contention.recalled(self.now);
        match &mut self.state.tickets[index].state {
            TicketState::Kept(_) => self.withdraw(index),
            TicketState::Held(Held {
                retention: Some(retention),
                ..
            }) if !retention.recalled => {
                retention.recalled = true;
                self.send(index);
            }
            _ => {}
        }
    }

    /// Before a question about the name: the store must know whether a call is inside.
    pub(super) fn tell_use(&mut self) {
        for index in 0..self.state.tickets.len() {
            match &self.state.tickets[index].state {
                TicketState::Kept(kept) if kept.retention.told != Retain::Kept => {
                    self.send(index);
                }
                TicketState::Held(Held {
                    retention: Some(retention),
                    ..
                }) if retention.told == Retain::Kept => self.send(index),
                _ => {}
            }
        }
    }
}

impl Kept {
    /// Renews the short lease, or cuts a longer lease to it.
    pub(super) fn request(&mut self, log: &mut SendLog, now: Instant, place: Duration) -> Op {
        let (short, leased) = (self.short, now.after(self.short));
        let lease = log.lease(now, short, place);
        if leased < self.leased {
            // The store ends the longer lease when it reads this request. Answers to earlier ones extend nothing.
            self.valid = self.valid.min(now.validity(short));
            log.executed(lease.counter);
        }
        self.leased = leased;
        self.retention.told = Retain::Kept;
        self.retention.asked = true;
        self.retention.renew = now.next_multiple(short / 4);
        let retain = Retain::Kept;
        Op::Touch {
            lease: Lease { retain, ..lease },
            units: 0,
        }
    }

    pub(super) fn again(&self) -> Instant {
        self.retention.renew.min(self.until)
    }

    /// Whether a call for `want` may enter.
    fn serves(&self, want: &Want, now: Instant) -> bool {
        let last = self.hold.want();
        last.share == want.share
            && last.meta == want.meta
            && now.after(SHORTEST) < self.valid
            && self.hold.grant.token < last_token(self.base)
    }
}

impl Held {
    /// `None` if the hold rules out that the lock is kept.
    fn may_be_kept(&mut self, now: Instant) -> Option<&mut Box<Retention>> {
        let hold = &self.hold;
        let whole = hold.given_back().is_none() && hold.grant.signal.is_none();
        let lasts = now.after(SHORTEST) < hold.valid() && !hold.want().terms.retain.is_zero();
        let retention = self.retention.as_mut()?;
        (whole && lasts && !retention.recalled).then_some(retention)
    }
}

impl Ticket {
    fn take_held(&mut self) -> Option<Held> {
        match std::mem::take(&mut self.state) {
            TicketState::Held(held) => Some(held),
            other => {
                self.state = other;
                None
            }
        }
    }

    fn take_kept(&mut self, which: impl FnOnce(&Kept) -> bool) -> Option<Kept> {
        match std::mem::take(&mut self.state) {
            TicketState::Kept(kept) if which(&kept) => Some(kept),
            other => {
                self.state = other;
                None
            }
        }
    }
}

/// Whether the lock of `want` can be kept.
fn may_keep(want: &Want) -> bool {
    let share = &want.share;
    !want.terms.retain.is_zero() && want.owner.is_none() && share.excludes_all() && !want.relies
}
