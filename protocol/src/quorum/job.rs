//! [`Job`]: one request of the member, with the answers of the nodes. [`Jobs`]: all that are under way.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::env::Name;
use super::nodes::Nodes;
use super::votes::Votes;
use crate::{Answer, Instant, Op, Request, Ticket};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Job<N> {
    pub(super) number: u64,
    pub(super) request: Request<N>,
    pub(super) kind: Kind,
    pub(super) votes: Votes,
    /// Answers to a second request: the raise of a round, or the wake queue of a query.
    pub(super) second: Votes,
    /// The token that a round writes back, or 0 if not chosen yet.
    pub(super) token: u64,
    pub(super) began: Instant,
    pub(super) ends: Instant,
    grace: Option<Instant>,
    due: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Round,
    Pause,
    Renew,
    Listen,
    Release {
        held: bool,
        enough: usize,
    },
    /// The notified ticket was released, so it leaves the other nodes, too.
    Withdraw(Ticket),
    Query,
}

/// A request to a node has the number of the job that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Jobs<N> {
    all: BTreeMap<u64, Box<Job<N>>>,
    timers: BTreeSet<(Instant, u64)>,
    last: u64,
}

impl<N> Default for Jobs<N> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            timers: BTreeSet::new(),
            last: 0,
        }
    }
}

impl<N> Jobs<N> {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A job that is not kept yet.
    pub(super) fn start(
        &mut self,
        request: Request<N>,
        kind: Kind,
        nodes: &Nodes<'_, '_, N>,
    ) -> Box<Job<N>> {
        self.last += 1;
        Box::new(Job {
            number: self.last,
            request,
            kind,
            votes: Votes::new(nodes.len()),
            second: Votes::default(),
            token: 0,
            began: nodes.now,
            ends: Instant::NEVER,
            grace: None,
            due: Instant::NEVER,
        })
    }

    pub(super) fn keep(&mut self, mut job: Box<Job<N>>, now: Instant) {
        let grace = job.grace.filter(|grace| *grace > now);
        job.due = grace.unwrap_or(Instant::NEVER).min(job.ends);
        if job.due != Instant::NEVER {
            self.timers.insert((job.due, job.number));
        }
        self.all.insert(job.number, job);
    }

    pub(super) fn take(&mut self, number: u64) -> Option<Box<Job<N>>> {
        let job = self.all.remove(&number)?;
        self.timers.remove(&(job.due, number));
        Some(job)
    }

    pub(super) fn take_pause(&mut self, number: u64) -> Option<Box<Job<N>>> {
        let job = self.all.get(&number)?;
        (job.kind == Kind::Pause).then(|| self.take(number))?
    }

    pub(super) fn take_withdrawal(&mut self) -> Option<Box<Job<N>>> {
        let mut jobs = self.all.values();
        let number = jobs
            .find(|job| matches!(job.kind, Kind::Withdraw(_)))?
            .number;
        self.take(number)
    }

    pub(super) fn take_due(&mut self, now: Instant) -> Option<Box<Job<N>>> {
        let &(at, number) = self.timers.first()?;
        (at <= now).then(|| self.take(number))?
    }

    #[cfg(all(test, repository))]
    pub(super) fn timers(&self) -> usize {
        self.timers.len()
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }
}

impl<N: Name> Job<N> {
    pub(super) fn put(&mut self, node: usize, Answer { request, result }: Answer<N>) {
        if request.name != self.request.name {
            return self.second.put(node, result);
        }
        if matches!(request.op, Op::Raise { .. }) {
            self.second.put(node, result.clone());
        }
        // The answer to a raise is more recent.
        self.votes.put(node, result);
    }

    pub(super) fn ask(&mut self, nodes: &mut Nodes<'_, '_, N>, node: usize, op: Op) {
        self.votes.ask(node);
        nodes.send(node, self.number, &self.request.name, op);
    }

    /// The first call starts the grace period.
    pub(super) fn is_in_grace(&mut self, now: Instant, grace: Duration) -> bool {
        *self.grace.get_or_insert(now.after(grace)) > now
    }
}
