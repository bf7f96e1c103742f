//! [`Job`]: one request of the member, and the answers of the nodes.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Instant, Name, Op, Reply, Request};

use super::machine::{Due, Quorum};
use super::votes::Votes;

#[derive(Debug)]
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) request: Request,
    pub(super) kind: Kind,
    /// The answer of each node.
    pub(super) votes: Votes,
    /// Each node's answer to a second request: the raise of a round, or the wake queue of a query.
    pub(super) second: Votes,
    /// The token that a round writes back; 0: not chosen yet.
    pub(super) token: u64,
    pub(super) began: Instant,
    /// When the job is decided, with whatever answers have come.
    pub(super) ends: Instant,
    /// Until when the job waits for slow nodes, once others have answered.
    grace: Option<Instant>,
    due: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All nodes are asked to grant a ticket.
    Round,
    Pause,
    Renew,
    Listen,
    Release {
        /// Whether the ticket was held, and not only requested.
        held: bool,
        enough: usize,
    },
    Query,
}

impl Job {
    pub(super) fn put(
        &mut self,
        node: usize,
        (name, op): (&Name, &Op),
        result: Result<Reply, StoreError>,
    ) {
        match op {
            _ if *name != self.request.name => self.second.put(node, result),
            Op::Raise { .. } => {
                self.second.put(node, result.clone());
                // The newer answer about the ticket replaces the older one.
                self.votes.put(node, result);
            }
            _ => self.votes.put(node, result),
        }
    }

    /// Whether the job still waits for slow nodes. The first call starts this time of grace.
    pub(super) fn is_in_grace(&mut self, now: Instant, grace: Duration) -> bool {
        *self.grace.get_or_insert(now.after(grace)) > now
    }
}

impl Quorum {
    pub(super) fn new_job(&mut self, request: Request, kind: Kind) -> Job {
        self.last_job += 1;
        Job {
            number: self.last_job,
            request,
            kind,
            votes: Votes::new(self.nodes.len()),
            second: Votes::default(),
            token: 0,
            began: self.now,
            ends: Instant::NEVER,
            grace: None,
            due: Instant::NEVER,
        }
    }

    pub(super) fn ask(&mut self, job: &mut Job, node: usize, op: Op) {
        job.votes.ask(node);
        self.nodes.send(node, job.number, &job.request.name, op);
    }

    pub(super) fn keep(&mut self, mut job: Job) {
        let grace = job.grace.filter(|grace| *grace > self.now);
        job.due = grace.unwrap_or(Instant::NEVER).min(job.ends);
        self.arm(job.due, Due::Job(job.number));
        self.jobs.insert(job.number, job);
    }

    pub(super) fn take_job(&mut self, number: u64) -> Option<Job> {
        let job = self.jobs.remove(&number)?;
        self.timers.remove(&(job.due, Due::Job(number)));
        Some(job)
    }

    pub(super) fn decide(&mut self, mut job: Job) {
        let result = match job.kind {
            Kind::Round => return self.decide_round(job),
            Kind::Pause => return self.round(job.request),
            Kind::Listen => return self.decide_listening(job),
            Kind::Renew => self.renewal_result(&job),
            Kind::Release { held, enough } => self.release_result(&job.votes, held, enough),
            Kind::Query => self.query_result(&mut job),
        };
        match result {
            Some(result) => self.answer(job.request, result),
            None => self.keep(job),
        }
    }
}
