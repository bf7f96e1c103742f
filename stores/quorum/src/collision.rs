//! The end of a lost round: another round, at once or after a pause, or an answer without a grant.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{HolderRecord, Mode, Reply, Request, StoreErrorKind};

use super::job::{Job, Kind};
use super::machine::Quorum;
use super::ticket::find;
use super::votes::{Vote, Votes, is_granted, most_frequent};

/// How long a request begins new rounds while rounds collide, before it is answered.
const PERSISTENCE: Duration = Duration::from_millis(200);
/// How many rounds a request in `Mode::Try` makes at most while no member wins.
const TRIES: u32 = 6;
/// The range of the pause before a waiter retries although no release has woken it.
const LOOK: (Duration, Duration) = (Duration::from_millis(750), Duration::from_millis(1250));

const TOO_FEW_ADOPTED: &str =
    "too few servers have handed the lock over; the others grant nothing yet, or are slow";

impl Quorum {
    /// Handles a round in which too few nodes have granted: releases those grants.
    pub(super) fn lost(&mut self, job: Job) {
        let Some((ticket, state)) = find(&mut self.tickets, &job.request) else {
            return self.answer(job.request, Ok(Reply::Gone));
        };
        let (enough, adopts) = (state.needed(), state.adopts.is_some());
        let is_first = state.lease.counter <= 1;
        // Enough nodes may still grant this adoption. Those that did no longer know the old ticket, so releasing the
        // new one would leave none that holds the lock: the member repeats the request instead.
        if adopts && self.nodes.len() - job.votes.count(refuses_adoption) >= enough {
            let is_reached = self.nodes.up() >= enough && job.votes.trouble().is_none();
            let error = match is_reached {
                true => StoreError::new(StoreErrorKind::Busy, TOO_FEW_ADOPTED),
                false => self.trouble(&job.votes, enough),
            };
            return self.end(job.request, Err(error));
        }
        for node in self.nodes.indices() {
            let may_hold = match job.votes.of(node) {
                Vote::Answered(reply) => is_granted(reply),
                Vote::Unanswered | Vote::Failed(_) => true,
                Vote::None => false,
            };
            if may_hold {
                self.withdraw_from(node, ticket, 0);
            }
        }
        if adopts {
            return self.end(job.request, Ok(Reply::Gone));
        }
        // A node that has not answered when the round ends counts as unreachable.
        let is_over = job.ends <= self.now;
        let unanswered = if is_over { 0 } else { job.votes.unanswered() };
        if job.votes.answered() + unanswered < enough {
            let error = self.trouble(&job.votes, enough);
            return self.end(job.request, Err(error));
        }
        if self.nodes.len() - job.votes.count(is_final) >= enough {
            return self.after_collision(job);
        }
        let refusal = job.votes.replies().find(|reply| is_final(reply));
        let result = match refusal.cloned().unwrap_or(Reply::Gone) {
            // A store never answers a ticket's first request with "gone" or "refused".
            Reply::Refused | Reply::Gone if is_first => {
                let what = "the servers have lost the request";
                Err(StoreError::new(StoreErrorKind::Busy, what))
            }
            reply => Ok(reply),
        };
        self.end(job.request, result);
    }

    /// Handles a round that failed because other tickets hold the name, or because no member got enough nodes.
    fn after_collision(&mut self, job: Job) {
        let request = job.request;
        let (holder, is_held) = holder(&job.votes, self.nodes.majority());
        let took = job.began.until(self.now);
        let Some((_, state)) = find(&mut self.tickets, &request) else {
            return self.answer(request, Ok(Reply::Gone));
        };
        let waited = state.asked.until(self.now);
        let persists = waited < PERSISTENCE.min(state.lease.hold / 4);
        if !is_held {
            state.collisions += 1;
        }
        let collisions = state.collisions;
        if state.mode == Mode::Try {
            if is_held || state.rounds >= TRIES || !persists {
                return self.end(request, Ok(Reply::Busy { holder }));
            }
            let wait = self.jitter.backoff(collisions, took);
            return self.pause(request, wait);
        }
        if state.woken && persists {
            let wait = self.jitter.between(Duration::ZERO, took);
            return self.pause(request, wait);
        }
        if is_held && state.wake_queue.is_none() {
            // One more round after joining: a release before that has not woken the ticket.
            state.join_wake_queue();
            return self.round(request);
        }
        if collisions > 1 {
            // Otherwise, the ticket could miss every release between two rounds.
            state.join_wake_queue();
        }
        let wait = match is_held {
            true => self.jitter.between(LOOK.0, LOOK.1),
            false => self.jitter.backoff(collisions, took),
        };
        if !is_held && persists && wait < PERSISTENCE {
            return self.pause(request, wait);
        }
        if is_held {
            state.collisions = 0;
        }
        let wait = if state.woken { took } else { wait };
        let queued = Reply::Queued {
            position: 1,
            again: wait.max(Duration::from_millis(1)),
            holder,
        };
        self.end(request, Ok(queued));
    }

    pub(super) fn pause(&mut self, request: Request, wait: Duration) {
        let mut job = self.new_job(request, Kind::Pause);
        job.ends = self.now.after(wait);
        if let Some((_, state)) = find(&mut self.tickets, &job.request) {
            state.job = Some(job.number);
        }
        self.keep(job);
    }

    /// Another member has released the name: if this job is a pause, the next round starts now.
    pub(super) fn end_pause(&mut self, number: u64) {
        if self
            .jobs
            .get(&number)
            .is_some_and(|job| job.kind == Kind::Pause)
            && let Some(job) = self.take_job(number)
        {
            self.round(job.request);
        }
    }
}

fn refuses_adoption(reply: &Reply) -> bool {
    !is_granted(reply) && !matches!(reply, Reply::Busy { .. })
}

/// Whether another round could not change the reply.
fn is_final(reply: &Reply) -> bool {
    matches!(
        reply,
        Reply::TooMany | Reply::Refused | Reply::Gone | Reply::Mismatch { .. }
    )
}

/// The holder that most nodes name, and whether a majority names it.
fn holder(votes: &Votes, majority: usize) -> (Option<HolderRecord>, bool) {
    let holders = votes.replies().filter_map(|reply| match reply {
        Reply::Busy { holder } => holder.as_ref(),
        _ => None,
    });
    let first = most_frequent(holders, |holder| holder.token);
    let is_held = first.is_some_and(|(_, count)| count >= majority);
    (first.map(|(holder, _)| holder.clone()), is_held)
}
