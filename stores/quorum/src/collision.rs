//! The end of a lost round: another round, now or after a pause, or an answer without a grant.

use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{HolderRecord, Mode, Reply, Request, StoreErrorKind, between};

use super::backoff::backoff;
use super::machine::{Job, Kind, Quorum};
use super::nodes::Nodes;
use super::ticket::{TicketState, find};
use super::votes::{Vote, Votes, is_granted, most_frequent};

const PERSISTENCE: Duration = Duration::from_millis(200);
const TRIES: u32 = 6;
/// How long a minority of the nodes may still have to hear of the release that ended another use of the name.
const FORMER_USE: Duration = Duration::from_secs(1);
/// A waiter tries again after this pause even if no release has woken it.
const LOOK: (Duration, Duration) = (Duration::from_millis(750), Duration::from_millis(1250));

const TOO_FEW_ADOPTED: &str =
    "too few servers have transferred the lock; the others grant nothing yet, or are slow";

/// `Continue` means that another round may succeed, after this pause.
pub(super) fn lost(
    state: &mut TicketState,
    nodes: &mut Nodes,
    job: &Job,
) -> ControlFlow<Result<Reply, StoreError>, Duration> {
    let (votes, enough) = (&job.votes, state.needed());
    let adopts = state.adopts.is_some();
    // Enough nodes may still grant this adoption. Those that have granted no longer know the old ticket, so releasing
    // the new one would leave no holder. The member repeats the request instead.
    if adopts && nodes.len() - votes.count(refuses_adoption) >= enough {
        let is_reached = nodes.up() >= enough && votes.trouble().is_none();
        return Break(Err(match is_reached {
            true => StoreError::new(StoreErrorKind::Busy, TOO_FEW_ADOPTED),
            false => nodes.trouble(votes, enough),
        }));
    }
    for node in nodes.indices() {
        match votes.of(node) {
            Vote::Answered(Ok(reply)) if !is_granted(reply) => {}
            Vote::None => {}
            _ => state.withdraw_from(nodes, node, 0),
        }
    }
    if adopts {
        return Break(Ok(Reply::Gone));
    }
    // A node that has not answered by the end of the round counts as unreachable.
    let is_over = job.ends <= nodes.now;
    let unanswered = if is_over { 0 } else { votes.unanswered() };
    if votes.answered() + unanswered < enough {
        return Break(Err(nodes.trouble(votes, enough)));
    }
    if nodes.len() - votes.count(is_final) >= enough {
        return after_collision(state, nodes, job).map_break(Ok);
    }
    let disagree = votes.count(|reply| matches!(reply, Reply::Mismatch { .. }));
    let is_new = state.asked.until(nodes.now) < FORMER_USE.min(state.lease.hold / 4);
    if is_new && disagree == votes.count(is_final) && disagree < nodes.majority() {
        state.collisions += 1;
        return Continue(backoff(state.collisions, job.began.until(nodes.now)));
    }
    let refusal = votes.replies().find(|reply| is_final(reply));
    Break(match refusal.cloned().unwrap_or(Reply::Gone) {
        // A store never answers a ticket's first request with "gone" or "refused".
        Reply::Refused | Reply::Gone if state.lease.counter <= 1 => {
            let what = "the servers have lost the request";
            Err(StoreError::new(StoreErrorKind::Busy, what))
        }
        reply => Ok(reply),
    })
}

fn after_collision(
    state: &mut TicketState,
    nodes: &Nodes,
    job: &Job,
) -> ControlFlow<Reply, Duration> {
    let (holder, is_held) = holder(&job.votes, nodes.majority());
    let took = job.began.until(nodes.now);
    let persists = state.asked.until(nodes.now) < PERSISTENCE.min(state.lease.hold / 4);
    state.collisions += u32::from(!is_held);
    let pause = backoff(state.collisions, took);
    if state.mode == Mode::Try {
        return match is_held || state.rounds >= TRIES || !persists {
            true => Break(Reply::Busy { holder }),
            false => Continue(pause),
        };
    }
    if state.woken && persists {
        return Continue(between(Duration::ZERO, took));
    }
    if is_held && state.wake_queue.is_none() {
        // One more round after joining, because an earlier release has not woken the ticket.
        state.join_wake_queue();
        return Continue(Duration::ZERO);
    }
    if state.collisions > 1 {
        // Otherwise the ticket could miss every release between two rounds.
        state.join_wake_queue();
    }
    if !is_held && persists && pause < PERSISTENCE {
        return Continue(pause);
    }
    let wait = match is_held {
        _ if state.woken => took,
        true => between(LOOK.0, LOOK.1),
        false => pause,
    };
    if is_held {
        state.collisions = 0;
    }
    Break(Reply::Queued {
        position: 1,
        again: wait.max(Duration::from_millis(1)),
        holder,
    })
}

impl Quorum {
    pub(super) fn pause(&mut self, request: Request, wait: Duration) {
        let mut job = self.new_job(request, Kind::Pause);
        job.ends = self.nodes.now.after(wait);
        if let Some(state) = find(&mut self.tickets, &job.request) {
            state.job = Some(job.number);
        }
        self.keep(job);
    }

    pub(super) fn end_pause(&mut self, number: u64) {
        let job = self.jobs.get(&number);
        if job.is_some_and(|job| job.kind == Kind::Pause)
            && let Some(job) = self.take_job(number)
        {
            self.round(job.request);
        }
    }
}

fn refuses_adoption(reply: &Reply) -> bool {
    !is_granted(reply) && !matches!(reply, Reply::Busy { .. })
}

fn is_final(reply: &Reply) -> bool {
    matches!(
        reply,
        Reply::TooMany | Reply::Refused | Reply::Gone | Reply::Mismatch { .. }
    )
}

fn holder(votes: &Votes, majority: usize) -> (Option<HolderRecord>, bool) {
    let holders = votes.replies().filter_map(|reply| match reply {
        Reply::Busy { holder } => holder.as_ref(),
        _ => None,
    });
    let first = most_frequent(holders, |holder| holder.token);
    let is_held = first.is_some_and(|(_, count)| count >= majority);
    (first.map(|(holder, _)| holder.clone()), is_held)
}
