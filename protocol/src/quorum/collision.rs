//! The end of a lost round: another round, now or after a pause, or an answer without a grant.

use core::ops::ControlFlow::{self, Break, Continue};
use core::time::Duration;

use super::Step;
use super::env::Name;
use super::job::{Job, Kind};
use super::nodes::Nodes;
use super::ticket::{TicketState, find};
use super::votes::{Vote, Votes, is_granted, most_frequent};
use crate::{HolderRecord, Mode, Reply, Request, StoreError, StoreErrorKind};

const TOO_FEW_ADOPTED: &str =
    "too few servers have transferred the lock; the others grant nothing yet, or are slow";

/// `Continue` means that another round may succeed, after this pause.
pub(super) fn lost<N: Name>(
    state: &mut TicketState<N>,
    nodes: &mut Nodes<'_, '_, N>,
    job: &Job<N>,
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
    let former_use = nodes.limits.quorum.former_use.min(state.lease.hold / 4);
    let is_new = state.asked.until(nodes.now) < former_use;
    if is_new && disagree == votes.count(is_final) && disagree < nodes.majority() {
        state.collisions += 1;
        return Continue(nodes.backoff(state.collisions, job.began.until(nodes.now)));
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

fn after_collision<N: Name>(
    state: &mut TicketState<N>,
    nodes: &mut Nodes<'_, '_, N>,
    job: &Job<N>,
) -> ControlFlow<Reply, Duration> {
    let (holder, is_held) = holder(&job.votes, nodes.majority());
    let (took, limits) = (job.began.until(nodes.now), &nodes.limits.quorum);
    let persists = state.asked.until(nodes.now) < limits.persistence.min(state.lease.hold / 4);
    state.collisions += u32::from(!is_held);
    let pause = nodes.backoff(state.collisions, took);
    if state.mode == Mode::Try {
        return match is_held || state.rounds >= limits.tries || !persists {
            true => Break(Reply::Busy { holder }),
            false => Continue(pause),
        };
    }
    if state.woken && persists {
        return Continue(nodes.env.between(Duration::ZERO, took));
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
    if !is_held && persists && pause < limits.persistence {
        return Continue(pause);
    }
    let wait = match is_held {
        _ if state.woken => took,
        true => nodes.env.between(limits.look.0, limits.look.1),
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

impl<N: Name> Step<'_, '_, N> {
    pub(super) fn pause(&mut self, request: Request<N>, wait: Duration) {
        let mut job = self.new_job(request, Kind::Pause);
        job.ends = self.nodes.now.after(wait);
        if let Some(state) = find(&mut self.rounds.tickets, &job.request) {
            state.job = Some(job.number);
        }
        self.keep(job);
    }

    pub(super) fn end_pause(&mut self, number: u64) {
        if let Some(job) = self.rounds.jobs.take_pause(number) {
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
