//! A round that was lost, and what comes next: another one, at once or after a pause, or an answer without a grant.

use std::time::Duration;

use super::enough::{majority, needed};
use super::nodes::Purpose;
use super::round::{Call, Round};
use super::state::{Due, Job, Quorum};
use super::votes::{Vote, Votes, is_granted};
use crate::clock::Instant;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{HolderRecord, Mode, Reply};

/// How long a request goes on trying by itself while rounds collide.
const PERSISTENCE: Duration = Duration::from_millis(200);
/// How often an attempt that does not wait is made again when nobody has won.
const TRIES: u32 = 6;
/// When whoever waits looks again, if nobody wakes him before.
const LOOK: (Duration, Duration) = (Duration::from_millis(750), Duration::from_millis(1250));

/// Between two rounds.
#[derive(Debug)]
pub(super) struct Pause {
    pub(super) call: Call,
    ends: Instant,
}

impl Quorum {
    /// Too few have granted: they get it back.
    pub(super) fn lost(&mut self, round: Round) {
        let ticket = round.call.ticket;
        for node in self.nodes.indices() {
            let may_hold = match round.votes.of(node) {
                Vote::Said(reply) => is_granted(reply),
                Vote::Awaited | Vote::Failed(_) => true,
                Vote::None => false,
            };
            if may_hold {
                self.release_at(node, ticket, 0, Purpose::NOBODY);
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
        if collisions > 1 {
            // From the next round on it is told of releases: they may be many, and each round fall between two.
            entry.side();
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

    /// Somebody has released.
    pub(super) fn end_pause_now(&mut self, number: u64) {
        match self.jobs.remove(&number) {
            Some(Job::Pause(pause)) => self.round(pause.call),
            other => self.jobs.extend(other.map(|job| (number, job))),
        }
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
