//! A round of an acquire: all nodes are asked at once, and when enough have granted, the highest of their tokens is
//! written back before the grant counts. If too few have, they get it back at once.

use std::time::Duration;

use super::enough::{majority, needed};
use super::entry::Phase;
use super::nodes::Purpose;
use super::state::{Due, Job, Quorum, Timer};
use super::votes::{Vote, Votes, is_granted};
use crate::clock::Instant;
use crate::error::StoreError;
use crate::store::{Op, Reply, Request, Ticket};

/// How long slow nodes are waited for while others have refused: three times as long as the majority took, within this.
const GRACE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How far a token that is written back is ahead of those that were given, in microseconds: so that also the nodes that
/// grant later have it, and that they all give the next one as the same again, if it comes soon.
const AHEAD: u64 = 10_000;
/// And by how much more at most, so that two who write at the same time seldom write the same.
const SPREAD: u64 = 1_000;

#[derive(Debug)]
pub(super) struct Round {
    pub(super) call: Call,
    pub(super) votes: Votes,
    /// The token that is being written back; 0: none yet.
    token: u64,
    /// What came of it.
    raised: Votes,
    pub(super) started: Instant,
    /// The ticket queues with those who wait for a release since before this round.
    pub(super) registered: bool,
    /// Until when slow nodes are waited for.
    grace: Option<Timer>,
    /// The end of the first lease.
    pub(super) end: Timer,
}

/// A request for which there is one round after another.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) ticket: Ticket,
    pub(super) since: Instant,
    pub(super) rounds: u32,
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
        let usable = |node: &usize| self.nodes.is_up(*node) && !entry.at[*node].tombed;
        let usable: Vec<_> = self.nodes.indices().filter(usable).collect();
        if usable.len() < enough {
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
        for node in usable {
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
            end: self.arm(self.now.after(hold), Due::Job(number)),
        };
        self.jobs.insert(number, Job::Round(round));
    }

    pub(super) fn acquire_at(&mut self, node: usize, ticket: Ticket, purpose: Purpose) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let at = &mut entry.at[node];
        (at.open, at.lost, at.asked) = (true, false, entry.want.counter);
        at.awaited += 1;
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
                self.over(&round);
                return self.won(round.call, token);
            }
            // Shares of an owner have one token. A node that lags behind is no reason for another one, while the others may agree.
            let is_owned = !entry.want.share.owner.is_empty();
            let waits = is_owned && round.token == 0 && may_agree(&round.votes, most);
            if !waits || !self.is_in_grace(number, &mut round) {
                self.raise(number, &mut round);
            }
        } else if over
            || !possible && (said >= most || awaited == 0)
            || said >= most && said > granted && !self.is_in_grace(number, &mut round)
        {
            self.over(&round);
            return self.lost(round);
        }
        self.jobs.insert(number, Job::Round(round));
    }

    /// Whether slow nodes are waited for still.
    fn is_in_grace(&mut self, number: u64, round: &mut Round) -> bool {
        let took = round.started.until(self.now);
        let grace = match round.grace {
            Some(grace) => grace,
            None => {
                let grace = self.now.after((took * 3).clamp(GRACE.0, GRACE.1));
                *round.grace.insert(self.arm(grace, Due::Job(number)))
            }
        };
        grace.0 > self.now
    }

    /// Nothing is due for it any more.
    pub(super) fn over(&mut self, round: &Round) {
        self.disarm(round.end);
        if let Some(grace) = round.grace {
            self.disarm(grace);
        }
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
}

fn token_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Granted { token, .. } => Some(*token),
        _ => None,
    }
}

/// Whether with those that are awaited so many may have granted the same token.
fn may_agree(votes: &Votes, most: usize) -> bool {
    let tokens = votes.replies().filter_map(token_of);
    let same = tokens
        .clone()
        .map(|token| tokens.clone().filter(|other| *other == token).count());
    same.max().unwrap_or(0) + votes.awaited() >= most
}

/// The token that so many have granted.
fn agreed(votes: &Votes, most: usize) -> Option<u64> {
    let mut tokens = votes.replies().filter_map(token_of);
    let all = tokens.clone();
    tokens.find(|token| all.clone().filter(|other| other == token).count() >= most)
}
