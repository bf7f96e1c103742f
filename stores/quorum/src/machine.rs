//! [`Quorum`]: the tickets of one member, and a [`Job`] for each of its requests, as a state machine without threads,
//! sockets or clock.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    Answer, Closed, Events, Instant, Message, Name, NameMap, Node, NodeChange, Op, Reply, Request,
    Ticket, TicketMap,
};

use super::nodes::Nodes;
use super::store::Input;
use super::ticket::TicketState;
use super::votes::Votes;

const SWEEP: usize = 64;

#[derive(Debug)]
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) request: Request,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Job {
    fn put(&mut self, node: usize, Answer { request, result }: Answer) {
        if request.name != self.request.name {
            return self.second.put(node, result);
        }
        if matches!(request.op, Op::Raise { .. }) {
            self.second.put(node, result.clone());
        }
        // The answer to a raise is more recent.
        self.votes.put(node, result);
    }

    pub(super) fn ask(&mut self, nodes: &mut Nodes, node: usize, op: Op) {
        self.votes.ask(node);
        nodes.send(node, self.number, &self.request.name, op);
    }

    /// The first call starts the grace period.
    pub(super) fn is_in_grace(&mut self, now: Instant, grace: Duration) -> bool {
        *self.grace.get_or_insert(now.after(grace)) > now
    }
}

pub(super) struct Quorum {
    pub(super) nodes: Nodes,
    pub(super) tickets: TicketMap<TicketState>,
    /// A request to a node has the number of the job that waits for its answer.
    pub(super) jobs: HashMap<u64, Job>,
    pub(super) timers: BTreeSet<(Instant, u64)>,
    /// For each wake queue: when this member last released, and when a node reported that it had woken a waiter.
    pub(super) releases: NameMap<(Instant, Option<Instant>)>,
    pub(super) took: Duration,
    pub(super) last_job: u64,
    events: Arc<dyn Events>,
    was_reached: bool,
    /// What was last reported to the member.
    connected: bool,
    closed: Option<Closed>,
    sweep_at: usize,
}

impl Quorum {
    pub(super) fn new(nodes: Nodes, events: Arc<dyn Events>) -> Self {
        let connected = nodes.are_connected();
        let quorum = Self {
            was_reached: nodes.up() > 0,
            nodes,
            tickets: TicketMap::default(),
            jobs: HashMap::new(),
            timers: BTreeSet::new(),
            releases: NameMap::default(),
            took: Duration::ZERO,
            last_job: 0,
            events,
            connected,
            closed: None,
            sweep_at: SWEEP,
        };
        quorum.report(match connected {
            true => NodeChange::Connected { again: false },
            false => NodeChange::Disconnected(quorum.nodes.disconnected()),
        });
        quorum
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Asked(request) => match &request.op {
                Op::Acquire { .. } | Op::Adopt { .. } | Op::Touch { .. } => {
                    self.ticket_asked(request);
                }
                &Op::Release { ticket, .. } if !self.was_reached => {
                    self.end_requests(ticket);
                    self.events.answered(request.unsent());
                }
                &Op::Release { ticket, .. } => self.release(ticket, request),
                _ => self.query(request),
            },
            Input::Answered(node, answer) => self.answered(node, answer),
            Input::Told(node, name, message) => self.told(node, &name, message),
            Input::Changed(node, change) => match change {
                NodeChange::Connected { .. } => self.up(node),
                NodeChange::Closed(closed) => self.nodes.all[node].closed = closed,
                NodeChange::Disconnected(error) | NodeChange::StillDisconnected(error) => {
                    self.down(node, error);
                }
                // One server of several: its answers tell.
                NodeChange::Forgotten | NodeChange::Gone => {}
            },
        }
        while let Some((node, answer)) = self.nodes.refused.pop() {
            self.answered(node, answer);
        }
        let closed = self.nodes.closed();
        if closed != self.closed {
            self.closed = closed;
            self.report(NodeChange::Closed(closed));
        }
    }

    fn up(&mut self, node: usize) {
        self.was_reached = true;
        self.nodes.note_up(node);
        self.look_after_places(node);
        if self.nodes.are_connected() && !self.connected {
            self.connected = true;
            self.report(NodeChange::Connected { again: true });
        }
        self.listen_again(node);
    }

    fn down(&mut self, node: usize, error: StoreError) {
        self.nodes.all[node].down = Some(error);
        if !self.nodes.are_connected() {
            let was_connected = std::mem::replace(&mut self.connected, false);
            let error = self.nodes.disconnected();
            self.report(match was_connected {
                true => NodeChange::Disconnected(error),
                false => NodeChange::StillDisconnected(error),
            });
        }
    }

    fn report(&self, change: NodeChange) {
        self.events.node_changed(Node::ONLY, change);
    }

    fn answered(&mut self, node: usize, answer: Answer) {
        if let Err(error) = &answer.result
            && error.is_disconnected()
        {
            self.down(node, error.clone());
        }
        self.note(node, &answer);
        if let Some(mut job) = self.take_job(answer.request.id.0) {
            job.put(node, answer);
            self.decide(job);
        }
    }

    pub(super) fn tick(&mut self) {
        self.nodes.retry();
        self.sweep();
        while let Some(&(at, number)) = self.timers.first()
            && at <= self.nodes.now
        {
            self.timers.pop_first();
            if let Some(job) = self.take_job(number) {
                self.decide(job);
            }
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(self.nodes.next_retry()).min()
    }

    pub(super) fn is_done(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn close(&mut self) {
        let jobs = self
            .jobs
            .extract_if(|_, job| matches!(job.kind, Kind::Withdraw(_)));
        for (_, job) in jobs.collect::<Vec<_>>() {
            self.decide(job);
        }
    }

    /// Drops tickets that the member will never release.
    fn sweep(&mut self) {
        if self.tickets.len() >= self.sweep_at {
            let now = self.nodes.now;
            self.tickets.retain(|_, state| !state.is_forsaken(now));
            self.sweep_at = SWEEP.max(self.tickets.len() * 2);
        }
    }

    pub(super) fn answer(&self, request: Request, result: Result<Reply, StoreError>) {
        self.events.answered(Answer { request, result });
    }

    pub(super) fn tell(&self, name: &Name, message: Message) {
        self.events.told(name, message);
    }

    pub(super) fn new_job(&mut self, request: Request, kind: Kind) -> Job {
        self.last_job += 1;
        Job {
            number: self.last_job,
            request,
            kind,
            votes: Votes::new(self.nodes.len()),
            second: Votes::default(),
            token: 0,
            began: self.nodes.now,
            ends: Instant::NEVER,
            grace: None,
            due: Instant::NEVER,
        }
    }

    pub(super) fn keep(&mut self, mut job: Job) {
        let grace = job.grace.filter(|grace| *grace > self.nodes.now);
        job.due = grace.unwrap_or(Instant::NEVER).min(job.ends);
        if job.due != Instant::NEVER {
            self.timers.insert((job.due, job.number));
        }
        self.jobs.insert(job.number, job);
    }

    pub(super) fn take_job(&mut self, number: u64) -> Option<Job> {
        let job = self.jobs.remove(&number)?;
        self.timers.remove(&(job.due, number));
        Some(job)
    }

    pub(super) fn decide(&mut self, mut job: Job) {
        let result = match job.kind {
            Kind::Round => return self.decide_round(job),
            Kind::Pause => return self.round(job.request),
            Kind::Withdraw(ticket) => return self.withdraw(ticket),
            Kind::Listen => self.listening_result(&job),
            Kind::Renew => self.renewal_result(&job),
            Kind::Release { held, enough } => self.release_result(&job.votes, held, enough),
            Kind::Query => self.query_result(&mut job),
        };
        match result {
            Some(result) if job.kind == Kind::Listen => self.end(job.request, result),
            Some(result) => self.answer(job.request, result),
            None => self.keep(job),
        }
    }
}
