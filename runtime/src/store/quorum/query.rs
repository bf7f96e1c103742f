//! Questions about a name, its breaking and its deletion: all nodes are asked, and what a majority says counts.

use std::time::Duration;

use super::enough::majority;
use super::entry::beside;
use super::merge::merge;
use super::nodes::Purpose;
use super::state::{Due, Job, Quorum};
use super::votes::{Vote, Votes};
use crate::clock::Instant;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Op, Reply, Request, Signal};

/// How long the others are waited for when a majority has answered.
const GRACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Query {
    request: Request,
    votes: Votes,
    /// What the nodes say about those who wait for a release.
    side: Option<Votes>,
    grace: Option<Instant>,
}

impl Query {
    pub(super) fn put(&mut self, first: bool, node: usize, result: Result<Reply, StoreError>) {
        match &mut self.side {
            Some(side) if !first => side.put(node, result),
            _ => self.votes.put(node, result),
        }
    }
}

impl Quorum {
    pub(super) fn query(&mut self, request: Request) {
        if let Op::Signal {
            signal: Signal::Token(_),
            ..
        } = request.op
        {
            let what = "tokens of a semaphore: each must be handed out once";
            let error = StoreError::new(StoreErrorKind::Unsupported, what);
            return self.answer(request, Err(error));
        }
        let asks_beside = matches!(request.op, Op::Inspect | Op::Delete);
        let number = self.number();
        let mut votes = Votes::new(self.nodes.len());
        let mut side = asks_beside.then(|| Votes::new(self.nodes.len()));
        let beside = beside(&request.name);
        for node in self.nodes.indices() {
            if !self.nodes.is_up(node) {
                continue;
            }
            votes.ask(node);
            let op = request.op.clone();
            self.nodes
                .send(node, Purpose::main(number), &request.name, op);
            if let Some(side) = &mut side {
                side.ask(node);
                let purpose = Purpose::second(number);
                self.nodes.send(node, purpose, &beside, Op::Inspect);
            }
        }
        let query = Query {
            request,
            votes,
            side,
            grace: None,
        };
        self.decide_query(number, query);
    }

    pub(super) fn decide_query(&mut self, number: u64, mut query: Query) {
        let most = majority(self.nodes.len());
        let votes = &query.votes;
        let awaited = votes.awaited() + query.side.as_ref().map_or(0, Votes::awaited);
        // A notification is done when a majority knows of it.
        let waits = !matches!(query.request.op, Op::Signal { .. }) || votes.said() < most;
        let grace = query.grace.unwrap_or(Instant::NEVER);
        if awaited > 0 && votes.said() + votes.awaited() >= most && self.now < grace && waits {
            if votes.said() >= most && query.grace.is_none() {
                let grace = self.now.after(GRACE);
                query.grace = Some(grace);
                self.arm(grace, Due::Job(number));
            }
            self.jobs.insert(number, Job::Query(query));
            return;
        }
        if matches!(query.request.op, Op::Force { .. }) {
            let name = query.request.name.clone();
            self.wake_one(&name);
        }
        let result = if votes.said() >= most {
            let silent = self.nodes.indices();
            let silent = silent.filter(|&node| !matches!(votes.of(node), Vote::Said(_)));
            let silent = silent.count();
            Ok(merge(&query.votes, query.side.as_ref(), silent))
        } else {
            let error = self.unreachable(most);
            // Some nodes may have done it.
            let error = match query.request.op {
                Op::Force { .. } | Op::Delete if !error.is_disconnected() => {
                    error.as_kind(StoreErrorKind::Refused)
                }
                _ => error,
            };
            Err(votes.trouble().cloned().unwrap_or(error))
        };
        self.answer(query.request, result);
    }
}
