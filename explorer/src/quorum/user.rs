//! A user takes the lock again and again as the local queue does: it asks, asks again at the time in the reply, renews,
//! and releases.

use std::time::Duration;

use auto_mutex_protocol::{
    Answer, Dice, Instant, Lease, Mode, Op, Reply, Request, RequestId, Share, Ticket,
};

use super::properties::{Judge, RENEWALS};
use super::world::NAME;

pub(super) const LEASE: Duration = Duration::from_millis(1500);

#[derive(Debug)]
enum Stage {
    /// The user wants nothing until this time.
    Rests(Instant),
    /// The user asks again at this time.
    Waits(Instant),
    /// The times at which the user releases and renews.
    Holds { ends: Instant, renews: Instant },
    /// A release is in flight.
    Leaves,
}

pub(super) struct User {
    pub(super) index: usize,
    share: Share,
    mode: Mode,
    ticket: Ticket,
    counter: u64,
    /// When the request with each counter was sent.
    sent: Vec<Instant>,
    stage: Stage,
    token: u64,
    until: Instant,
    /// The highest token that any user had when this user first asked with its present ticket.
    before: u64,
    /// Whether the user has a place in the queue, which it has to touch.
    queued: bool,
    pub(super) turns: u32,
    /// The time since which the user has waited.
    since: Instant,
}

impl User {
    pub(super) fn new(index: usize, share: Share, mode: Mode) -> Self {
        Self {
            index,
            share,
            mode,
            ticket: Ticket::of_public(0),
            counter: 0,
            sent: Vec::new(),
            stage: Stage::Rests(Instant::START),
            token: 0,
            until: Instant::START,
            before: 0,
            queued: false,
            turns: 0,
            since: Instant::START,
        }
    }

    /// Whether the user always gets the lock, whatever the other users do.
    pub(super) fn gets_on(&self) -> bool {
        self.mode == Mode::Queue && (self.share.units == 1 || self.share.capacity == 1)
    }

    /// Returns how long the user has waited.
    pub(super) fn waited(&self, now: Instant) -> Duration {
        match self.stage {
            Stage::Waits(_) => self.since.until(now),
            _ => Duration::ZERO,
        }
    }

    fn request(&self, op: Op) -> Request<u8> {
        Request {
            name: NAME,
            op,
            id: RequestId(self.index as u64),
        }
    }

    fn next(&mut self, now: Instant) -> u64 {
        self.sent.push(now);
        self.counter += 1;
        self.counter
    }

    fn acquire(&mut self, now: Instant) -> Request<u8> {
        let counter = self.next(now);
        self.stage = Stage::Waits(Instant::NEVER);
        self.request(Op::Acquire {
            lease: Lease::of(self.ticket, counter, LEASE),
            share: self.share,
            mode: self.mode,
            meta: format!("user {}", self.index).into(),
        })
    }

    fn touch(&mut self, now: Instant) -> Request<u8> {
        let counter = self.next(now);
        self.request(Op::Touch {
            lease: Lease::of(self.ticket, counter, LEASE),
            units: 0,
        })
    }

    fn release(&mut self) -> Request<u8> {
        self.stage = Stage::Leaves;
        self.request(Op::Release {
            ticket: self.ticket,
            park: Duration::ZERO,
            tomb: self.counter > 1,
            used: match self.share.capacity {
                0 => self.token,
                _ => 0,
            },
        })
    }

    fn ask_again(&mut self, now: Instant) -> Request<u8> {
        match self.queued {
            true => {
                self.stage = Stage::Waits(Instant::NEVER);
                self.touch(now)
            }
            false => self.acquire(now),
        }
    }

    fn rest(&mut self, now: Instant, dice: &mut Dice) {
        self.stage = Stage::Rests(now.after(Duration::from_micros(dice.below(8000))));
    }

    /// Performs the user's action that is due now. Returns the request for it.
    pub(super) fn due(
        &mut self,
        now: Instant,
        judge: &mut Judge,
        dice: &mut Dice,
    ) -> Option<Request<u8>> {
        match self.stage {
            Stage::Rests(until) if until <= now => {
                self.ticket = dice.ticket();
                (self.counter, self.queued, self.since) = (0, false, now);
                self.token = 0;
                self.sent.clear();
                self.before = judge.last();
                Some(self.acquire(now))
            }
            Stage::Waits(again) if again <= now => Some(self.ask_again(now)),
            Stage::Holds { ends, .. } if ends <= now || self.until <= now => {
                judge.released(self.index);
                Some(self.release())
            }
            Stage::Holds { ends, renews } if renews <= now => {
                let renews = now.after(LEASE / 3);
                self.stage = Stage::Holds { ends, renews };
                Some(self.touch(now))
            }
            _ => None,
        }
    }

    /// When its next action is due.
    pub(super) fn next_due(&self) -> Instant {
        match self.stage {
            Stage::Rests(until) => until,
            Stage::Waits(again) => again,
            Stage::Holds { ends, renews } => ends.min(renews).min(self.until),
            Stage::Leaves => Instant::NEVER,
        }
    }

    /// Users sometimes give up.
    pub(super) fn may_give_up(&mut self, dice: &mut Dice) -> Option<Request<u8>> {
        let waits = matches!(self.stage, Stage::Waits(_));
        (waits && dice.one_in(80)).then(|| self.release())
    }

    /// Handles a message that asks the user to ask again.
    pub(super) fn told(&mut self, ticket: Ticket, now: Instant) -> Option<Request<u8>> {
        let waits = matches!(self.stage, Stage::Waits(_)) && self.ticket == ticket;
        waits.then(|| self.ask_again(now))
    }

    /// After a reconnect, the user resends its request.
    pub(super) fn reconnected(&mut self, now: Instant) -> Option<Request<u8>> {
        match self.stage {
            Stage::Waits(_) => Some(self.ask_again(now)),
            Stage::Holds { .. } => Some(self.touch(now)),
            Stage::Leaves => Some(self.release()),
            Stage::Rests(_) => None,
        }
    }

    pub(super) fn answered(
        &mut self,
        Answer { request, result }: Answer<u8>,
        now: Instant,
        (judge, dice): (&mut Judge, &mut Dice),
    ) -> Option<Request<u8>> {
        if request.op.ticket() != Some(self.ticket) {
            return None;
        }
        let Some(Lease { counter, .. }) = request.op.lease() else {
            let again = matches!(&result, Err(error) if error.is_disconnected());
            if !again && matches!(self.stage, Stage::Leaves) {
                self.rest(now, dice);
            }
            return None;
        };
        let sent = self.sent[counter as usize - 1];
        let until = sent.validity(LEASE);
        match (&self.stage, result) {
            (Stage::Waits(_), Ok(Reply::Granted { token, .. })) => {
                if until <= now {
                    return Some(self.release());
                }
                self.turns += 1;
                self.token = token;
                self.until = until;
                let times = (now, until, self.before);
                let units = (self.share.units, self.share.capacity);
                // Those who are notified exclude nobody.
                if self.share != Share::NOTIFICATION {
                    judge.granted((self.index, token), units, times);
                }
                let length = match dice.below(12) {
                    0 => 4_000_000,
                    _ => 20_000,
                };
                let ends = now.after(Duration::from_micros(dice.below(length)));
                let renews = now.after(LEASE / 3);
                self.stage = Stage::Holds { ends, renews };
                None
            }
            (Stage::Waits(_), Ok(Reply::Queued { again, .. })) => {
                self.queued = true;
                self.stage = Stage::Waits(now.after(again));
                None
            }
            (Stage::Waits(_), Ok(Reply::Gone | Reply::Refused | Reply::Busy { .. })) => {
                self.rest(now, dice);
                None
            }
            (Stage::Waits(_), Err(error)) if !error.is_disconnected() => {
                self.stage = Stage::Waits(now.after(Duration::from_millis(200)));
                None
            }
            (Stage::Holds { .. }, Ok(Reply::Granted { token, .. })) => {
                let same = token == self.token;
                judge.check(RENEWALS, same, || format!("{token} after {}", self.token));
                self.until = self.until.max(until);
                judge.renewed(self.index, self.until);
                None
            }
            (Stage::Holds { .. }, Ok(_)) => {
                judge.released(self.index);
                Some(self.release())
            }
            _ => None,
        }
    }
}
