//! A round of an acquire: all nodes are asked at once, and when enough have granted, the highest of their tokens is
//! written back before the grant counts. If too few have, they get it back at once.

use std::time::Duration;

use super::enough::{majority, needed};
use super::entry::Phase;
use super::nodes::Purpose;
use super::state::{Due, Job, Quorum};
use super::votes::{Vote, Votes, is_granted};
use crate::clock::Instant;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{HolderRecord, Mode, Op, Reply, Request, Ticket};

/// How long slow nodes are waited for while others have refused: three times as long as the majority took, within this.
const GRACE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How long a request goes on trying by itself while rounds collide.
const PERSISTENCE: Duration = Duration::from_millis(200);
/// How far a token that is written back is ahead of those that were given, in microseconds: so that also the nodes that
/// grant later have it, and that they all give the next one as the same again, if it comes soon.
const AHEAD: u64 = 10_000;
/// And by how much more at most, so that two who write at the same time seldom write the same.
const SPREAD: u64 = 1_000;
/// When whoever waits looks again, if nobody wakes him before.
const LOOK: (Duration, Duration) = (Duration::from_millis(750), Duration::from_millis(1250));
/// How often an attempt that does not wait is made again when nobody has won.
const TRIES: u32 = 6;

#[derive(Debug)]
pub(super) struct Round {
    pub(super) call: Call,
    pub(super) votes: Votes,
    /// The token that is being written back; 0: none yet.
    token: u64,
    /// What came of it.
    raised: Votes,
    started: Instant,
    /// The ticket queues with those who wait for a release since before this round.
    registered: bool,
    /// Until when slow nodes are waited for.
    grace: Option<Instant>,
}

/// A request for which there is one round after another.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) ticket: Ticket,
    pub(super) since: Instant,
    pub(super) rounds: u32,
}

/// Between two rounds.
#[derive(Debug)]
pub(super) struct Pause {
    pub(super) call: Call,
    ends: Instant,
}

impl Round {
    pub(super) fn put(&mut self, first: bool, node: usize, result: Result<Reply, StoreError>) {
        if first {
            return self.votes.put(node, result);
        }
        self.raised.put(node, result.clone());
        // It is what the node says by now.
        self.votes.put(node, result);
    }
}

impl Quorum {
    /// Asks all nodes.
    pub(super) fn round(&mut self, mut call: Call) {
        let ticket = call.ticket;
        let nodes = self.nodes.len();
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return self.answer(call.request, Ok(Reply::Gone));
        };
        let enough = needed(nodes, &entry.want.share);
        if self.nodes.up() < enough {
            entry.job = None;
            let error = self.unreachable(enough);
            self.answer(call.request, Err(error));
            return self.go_on(ticket);
        }
        call.rounds += 1;
        entry.woken = false;
        let (hold, registered) = (entry.want.hold, entry.side.is_some());
        let number = self.number();
        let mut votes = Votes::new(nodes);
        for node in self.nodes.indices() {
            if !self.nodes.is_up(node) {
                continue;
            }
            if registered {
                self.register(node, ticket);
            }
            votes.ask(node);
            self.acquire_at(node, ticket, Purpose::main(number));
        }
        if let Some(entry) = self.tickets.get_mut(&ticket) {
            entry.job = Some(number);
        }
        let round = Round {
            call,
            votes,
            token: 0,
            raised: Votes::new(nodes),
            started: self.now,
            registered,
            grace: None,
        };
        self.arm(self.now.after(hold), Due::Job(number));
        self.jobs.insert(number, Job::Round(round));
    }

    pub(super) fn acquire_at(&mut self, node: usize, ticket: Ticket, purpose: Purpose) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        entry.at[node].open = true;
        entry.at[node].lost = false;
        let op = entry.acquire(ticket);
        self.nodes.send(node, purpose, &entry.name, op);
    }

    pub(super) fn decide_round(&mut self, number: u64, mut round: Round) {
        let Some(entry) = self.tickets.get(&round.call.ticket) else {
            return self.answer(round.call.request, Ok(Reply::Gone));
        };
        let nodes = self.nodes.len();
        let (enough, most) = (needed(nodes, &entry.want.share), majority(nodes));
        let over = round.started.after(entry.want.hold) <= self.now;
        let granted = round.votes.count(is_granted);
        let (awaited, said) = (round.votes.awaited(), round.votes.said());
        let possible = granted + awaited >= enough;
        if !over && granted >= enough {
            if let Some(token) = agreed(&round.votes, most) {
                self.took = round.started.until(self.now);
                return self.won(round.call, token);
            }
            self.raise(number, &mut round);
        } else if over || !possible && (said >= most || awaited == 0) {
            return self.lost(round);
        } else if said >= most && said > granted {
            let took = round.started.until(self.now);
            let grace = match round.grace {
                Some(grace) => grace,
                None => {
                    let grace = self.now.after((took * 3).clamp(GRACE.0, GRACE.1));
                    self.arm(grace, Due::Job(number));
                    *round.grace.insert(grace)
                }
            };
            if grace <= self.now {
                return self.lost(round);
            }
        }
        self.jobs.insert(number, Job::Round(round));
    }

    /// Enough have granted, but no majority the same token: one that is greater than all theirs is written to each. If it
    /// was given to somebody else meanwhile, that node has the next one, and there may be another time.
    fn raise(&mut self, number: u64, round: &mut Round) {
        if round.raised.awaited() == 0 {
            let tokens = round.votes.replies().filter_map(token_of);
            let highest = tokens.max().unwrap_or(0);
            if highest >= round.token {
                let spread = self.jitter.below(SPREAD);
                round.token = highest + AHEAD + spread;
                round.raised = Votes::new(self.nodes.len());
            }
        }
        let (ticket, token) = (round.call.ticket, round.token);
        for node in self.nodes.indices() {
            let lower = match round.votes.of(node) {
                Vote::Said(reply) => token_of(reply).is_some_and(|given| given < token),
                _ => false,
            };
            if lower && matches!(round.raised.of(node), Vote::None) {
                round.raised.ask(node);
                let op = Op::Raise { ticket, token };
                let name = &round.call.request.name;
                self.nodes.send(node, Purpose::second(number), name, op);
            }
        }
    }

    fn won(&mut self, call: Call, token: u64) {
        let ticket = call.ticket;
        let mut passes_on = None;
        if let Some(entry) = self.tickets.get_mut(&ticket) {
            entry.phase = Phase::Held(token);
            entry.job = None;
            entry.collisions = 0;
            let share = &entry.want.share;
            if entry.side.is_some() && share.units < share.capacity {
                passes_on = Some(entry.name.clone());
            }
        }
        self.leave_side(ticket, true);
        // There may be room for the next one beside it.
        if let Some(name) = passes_on {
            self.wake_one(&name);
        }
        let signal = None;
        self.answer(call.request, Ok(Reply::Granted { token, signal }));
        self.go_on(ticket);
    }

    /// Too few have granted: they get it back.
    fn lost(&mut self, round: Round) {
        let ticket = round.call.ticket;
        for node in self.nodes.indices() {
            let may_hold = match round.votes.of(node) {
                Vote::Said(reply) => is_granted(reply),
                Vote::Awaited | Vote::Failed(_) => true,
                Vote::None => false,
            };
            if may_hold {
                self.release_at(node, ticket, (Duration::ZERO, 0), Purpose::NOBODY);
            }
        }
        let nodes = self.nodes.len();
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return self.answer(round.call.request, Ok(Reply::Gone));
        };
        let enough = needed(nodes, &entry.want.share);
        let blocked = |count: usize| count > nodes - enough;
        let votes = &round.votes;
        // What has not answered by the end is as good as unreachable.
        let is_over = round.started.after(entry.want.hold) <= self.now;
        let reached = votes.said() + if is_over { 0 } else { votes.awaited() };
        let end = if entry.want.adopts.is_some() && reached >= enough {
            Some(Ok(Reply::Gone))
        } else if reached < enough {
            let trouble = votes.trouble().cloned();
            Some(Err(trouble.unwrap_or_else(|| self.unreachable(enough))))
        } else if let Some(reply) = votes.replies().find(|reply| ends(reply))
            && blocked(votes.count(ends))
        {
            // To the first request of a ticket no store says that it is over: to the next one it may.
            let too_soon = entry.want.counter <= 1 && matches!(reply, Reply::Refused | Reply::Gone);
            let lost =
                || StoreError::new(StoreErrorKind::Busy, "the servers have lost the request");
            Some(match too_soon {
                true => Err(lost()),
                false => Ok(reply.clone()),
            })
        } else {
            None
        };
        match end {
            Some(result) => self.end(round.call, result),
            None => self.after_collision(round),
        }
    }

    /// It was held by others, or nobody got enough: what comes next.
    fn after_collision(&mut self, round: Round) {
        let Round {
            call,
            votes,
            started,
            registered,
            ..
        } = round;
        let (holder, is_held) = holder(&votes, majority(self.nodes.len()));
        let took = started.until(self.now);
        let Some(entry) = self.tickets.get_mut(&call.ticket) else {
            return;
        };
        let waited = call.since.until(self.now);
        let persists = waited < PERSISTENCE.min(entry.want.hold / 4);
        if !is_held {
            entry.collisions += 1;
        }
        let collisions = entry.collisions;
        if entry.want.mode == Mode::Try {
            if is_held || call.rounds >= TRIES || !persists {
                return self.end(call, Ok(Reply::Busy { holder }));
            }
            let wait = self.jitter.backoff(collisions, took);
            return self.pause(call, wait);
        }
        if entry.woken && persists {
            let wait = self.jitter.between(Duration::ZERO, took);
            return self.pause(call, wait);
        }
        if is_held && !registered {
            // Once more when it would be told of a release: there may have been one in between.
            entry.side();
            return self.round(call);
        }
        let wait = match is_held {
            true => self.jitter.between(LOOK.0, LOOK.1),
            false => self.jitter.backoff(collisions, took),
        };
        if !is_held && persists && wait < PERSISTENCE {
            return self.pause(call, wait);
        }
        if is_held {
            entry.collisions = 0;
        }
        let wait = if entry.woken { took } else { wait };
        self.end(
            call,
            Ok(Reply::Queued {
                position: 1,
                again: wait.max(Duration::from_millis(1)),
                holder,
            }),
        );
    }

    pub(super) fn pause(&mut self, call: Call, wait: Duration) {
        let number = self.number();
        let ends = self.now.after(wait);
        if let Some(entry) = self.tickets.get_mut(&call.ticket) {
            entry.job = Some(number);
        }
        self.arm(ends, Due::Job(number));
        self.jobs.insert(number, Job::Pause(Pause { call, ends }));
    }

    pub(super) fn end_pause(&mut self, number: u64, pause: Pause) {
        match pause.ends <= self.now {
            true => self.round(pause.call),
            false => drop(self.jobs.insert(number, Job::Pause(pause))),
        }
    }

    /// Answers without a grant. The member forgets a ticket that has no place.
    fn end(&mut self, call: Call, result: Result<Reply, StoreError>) {
        let ticket = call.ticket;
        let forgotten = matches!(
            &result,
            Ok(reply) if !matches!(reply, Reply::Queued { .. })
        );
        self.answer(call.request, result);
        if forgotten {
            self.leave_side(ticket, false);
            if let Some(entry) = self.tickets.remove(&ticket) {
                for request in entry.later {
                    self.answer(request, Ok(Reply::Gone));
                }
            }
        } else {
            if let Some(entry) = self.tickets.get_mut(&ticket) {
                entry.job = None;
            }
            self.go_on(ticket);
        }
    }
}

fn token_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Granted { token, .. } => Some(*token),
        _ => None,
    }
}

/// The token that so many have granted.
fn agreed(votes: &Votes, most: usize) -> Option<u64> {
    let mut tokens = votes.replies().filter_map(token_of);
    let all = tokens.clone();
    tokens.find(|token| all.clone().filter(|other| other == token).count() >= most)
}

/// What no further round would change.
fn ends(reply: &Reply) -> bool {
    matches!(
        reply,
        Reply::TooMany | Reply::Refused | Reply::Gone | Reply::Mismatch { .. }
    )
}

/// Who holds by most of the answers, and whether enough nodes say the same for it to be so.
fn holder(votes: &Votes, majority: usize) -> (Option<HolderRecord>, bool) {
    let mut found: Vec<(&HolderRecord, usize)> = Vec::new();
    for reply in votes.replies() {
        let Reply::Busy {
            holder: Some(holder),
        } = reply
        else {
            continue;
        };
        match found.iter_mut().find(|known| known.0.token == holder.token) {
            Some(known) => known.1 += 1,
            None => found.push((holder, 1)),
        }
    }
    let first = found.into_iter().max_by_key(|known| known.1);
    let is_held = first.as_ref().is_some_and(|first| first.1 >= majority);
    (first.map(|first| first.0.clone()), is_held)
}
