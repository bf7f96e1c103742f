//! Releases: every node that may hold the ticket is told, those that cannot be reached as soon as they can.

use super::enough::majority;
use super::entry::Phase;
use super::nodes::Purpose;
use super::owed::Leave;
use super::state::{Job, Quorum};
use super::votes::{Vote, Votes};
use crate::clock::Instant;
use crate::store::{Op, Reply, Request, Ticket};

#[derive(Debug)]
pub(super) struct Release {
    request: Request,
    pub(super) votes: Votes,
    /// Nodes that may have held it, and will hear of the release.
    owed: usize,
    /// It was held, and not only asked for.
    held: bool,
}

impl Release {
    /// Of a ticket that waited for a notification; `held`: it has used one.
    pub(super) fn new(request: Request, votes: Votes, held: bool) -> Self {
        Self {
            request,
            votes,
            owed: 0,
            held,
        }
    }
}

impl Quorum {
    pub(super) fn release(&mut self, request: Request) {
        let &Op::Release {
            ticket,
            park,
            tomb,
            used,
        } = &request.op
        else {
            return;
        };
        let nodes = self.nodes.len();
        if let Some(entry) = self.tickets.get_mut(&ticket) {
            let later = std::mem::take(&mut entry.later);
            let job = entry
                .job
                .take()
                .and_then(|number| self.jobs.remove(&number));
            let under_way = match job {
                Some(Job::Round(round)) => Some(round.call.request),
                Some(Job::Pause(pause)) => Some(pause.call.request),
                Some(Job::Listen(listen)) => Some(listen.request),
                _ => None,
            };
            for request in under_way.into_iter().chain(later) {
                self.answer(request, Ok(Reply::Gone));
            }
        }
        let known = self.tickets.get(&ticket);
        if known.is_some_and(|entry| entry.want.share.capacity == 0) {
            return self.leave_listening(request, ticket, used);
        }
        self.leave_side(ticket, false);
        let entry = self.tickets.remove(&ticket);
        let number = self.number();
        let mut votes = Votes::new(nodes);
        let mut owed = 0;
        for node in self.nodes.indices() {
            let at = entry.as_ref().map(|entry| &entry.at[node]);
            if at.is_some_and(|at| !at.open && !at.late) {
                continue;
            }
            let leave = Leave {
                ticket,
                park,
                tomb: tomb || at.is_none_or(|at| at.may_come(self.nodes.is_up(node))),
                used,
            };
            if self.nodes.is_up(node) {
                votes.ask(node);
                let purpose = Purpose::main(number);
                self.nodes.send(node, purpose, &request.name, leave.op());
            } else {
                owed += 1;
                let when = (self.now, Instant::NEVER);
                self.nodes.owe(node, &request.name, leave, when);
            }
        }
        if votes.awaited() > 0 {
            let name = request.name.clone();
            self.wake_one(&name);
        }
        let held = entry.is_none_or(|entry| matches!(entry.phase, Phase::Held(_)));
        let release = Release {
            request,
            votes,
            owed,
            held,
        };
        self.decide_release(number, release);
    }

    pub(super) fn decide_release(&mut self, number: u64, release: Release) {
        let most = majority(self.nodes.len());
        let Release {
            votes, owed, held, ..
        } = &release;
        let is_released = |reply: &Reply| matches!(reply, Reply::Released { .. });
        let released = votes.count(is_released);
        let over = votes.awaited() == 0;
        // Where nobody answers, it was held for all that is known.
        let lost = self
            .nodes
            .indices()
            .filter(|&node| matches!(votes.of(node), Vote::Failed(_)));
        let unknown = owed + lost.count();
        let result = if !held {
            let enough = over || votes.said() >= most;
            enough.then_some(Ok(Reply::Cancelled))
        } else if released >= most || over && released > 0 && released + unknown >= most {
            let mut free: Vec<_> = votes.replies().filter_map(free_of).collect();
            free.sort_unstable();
            let free = free.get(free.len() / 2).copied().unwrap_or(0);
            Some(Ok(Reply::Released { free }))
        } else if over && released + unknown >= most {
            let trouble = votes.trouble().cloned();
            Some(Err(trouble.unwrap_or_else(|| self.unreachable(most))))
        } else if released + unknown + votes.awaited() < most {
            Some(Ok(Reply::Gone))
        } else {
            None
        };
        match result {
            Some(result) => self.answer(release.request, result),
            None => drop(self.jobs.insert(number, Job::Release(release))),
        }
    }

    /// Takes `ticket` back from one node.
    pub(super) fn release_at(&mut self, node: usize, ticket: Ticket, used: u64, purpose: Purpose) {
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let at = &mut entry.at[node];
        let tomb = at.may_come(self.nodes.is_up(node));
        (at.open, at.late, at.token, at.lost) = (false, false, 0, false);
        at.tombed |= tomb;
        let leave = Leave {
            tomb,
            used,
            ..Leave::plain(ticket)
        };
        if self.nodes.is_up(node) {
            self.nodes.send(node, purpose, &entry.name, leave.op());
        } else {
            let when = (self.now, Instant::NEVER);
            self.nodes.owe(node, &entry.name, leave, when);
        }
    }
}

fn free_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Released { free } => Some(*free),
        _ => None,
    }
}
