//! [`Quorum`]: one member's tickets and jobs, as a state machine without threads, sockets or clock.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    Answer, Events, GrantBlock, Instant, Message, Name, NameMap, Node, Op, Reply, Request,
    StoreErrorKind, Ticket, TicketMap,
};

use super::backoff::{Jitter, LastRelease};
use super::job::Job;
use super::nodes::Nodes;
use super::store::Input;
use super::ticket::TicketState;
use super::votes::Votes;

/// The number of tickets at which the first search for abandoned tickets begins.
const SWEEP: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    Job(u64),
    /// The ticket was notified and released; now it leaves the other nodes too.
    Withdraw(Ticket),
}

pub(super) struct Quorum {
    pub(super) nodes: Nodes,
    pub(super) tickets: TicketMap<TicketState>,
    /// The jobs, by number. A request to a node carries the number of the job that waits for the answer.
    pub(super) jobs: HashMap<u64, Job>,
    pub(super) timers: BTreeSet<(Instant, Due)>,
    pub(super) now: Instant,
    pub(super) jitter: Jitter,
    /// This member's last releases, by wake queue.
    pub(super) releases: NameMap<LastRelease>,
    /// The duration of the last round that was won.
    pub(super) took: Duration,
    pub(super) last_job: u64,
    events: Arc<dyn Events>,
    was_reached: bool,
    was_connected: bool,
    connected: bool,
    /// The block that was last reported to the member.
    closing: Option<GrantBlock>,
    /// The number of tickets at which the next search for abandoned tickets begins.
    sweep_at: usize,
}

impl Quorum {
    pub(super) fn new(nodes: Nodes, events: Arc<dyn Events>) -> Self {
        let mut quorum = Self {
            nodes,
            tickets: TicketMap::default(),
            jobs: HashMap::new(),
            timers: BTreeSet::new(),
            now: Instant::now(),
            jitter: Jitter::new(),
            releases: NameMap::default(),
            took: Duration::ZERO,
            last_job: 0,
            events,
            was_reached: false,
            was_connected: false,
            connected: false,
            closing: None,
            sweep_at: SWEEP,
        };
        quorum.was_reached = quorum.nodes.up() > 0;
        quorum.connect();
        if !quorum.connected {
            // The first connection will be one after an outage: requests have failed by then.
            quorum.was_connected = true;
            let error = quorum.disconnected();
            quorum.events.disconnected(Node::ONLY, error);
        }
        quorum
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Asked(request) => match &request.op {
                Op::Acquire { .. } | Op::Adopt { .. } | Op::Touch { .. } => {
                    self.ticket_asked(request);
                }
                Op::Release { ticket, .. } if !self.was_reached => {
                    self.end_requests(*ticket);
                    self.events.answered(request.unsent());
                }
                Op::Release { .. } => self.release(request),
                _ => self.query(request),
            },
            Input::Answered(node, answer) => self.answered(node, answer),
            Input::Told(node, name, message) => self.told(node, &name, message),
            Input::Up(node) => {
                self.was_reached = true;
                self.nodes.note_up(node, self.now);
                self.look_after_places(node);
                self.connect();
                self.listen_again(node);
            }
            Input::Closed(node, closing) => self.nodes.note_closed(node, closing),
            Input::Down(node, error) => self.down(node, error),
            Input::StillDown(node, error) => {
                self.nodes.note_down(node, error);
                if !self.connected {
                    let error = self.disconnected();
                    self.events.still_disconnected(Node::ONLY, error);
                }
            }
        }
        while let Some((node, answer)) = self.nodes.refused.pop() {
            self.answered(node, answer);
        }
        let closing = self.nodes.closing(self.now);
        if closing != self.closing {
            self.closing = closing;
            self.events.closed(Node::ONLY, closing);
        }
    }

    fn connect(&mut self) {
        if self.nodes.are_connected() && !self.connected {
            self.connected = true;
            let again = std::mem::replace(&mut self.was_connected, true);
            self.events.connected(Node::ONLY, again);
        }
    }

    fn down(&mut self, node: usize, error: StoreError) {
        self.nodes.note_down(node, error);
        if self.connected && !self.nodes.are_connected() {
            self.connected = false;
            let error = self.disconnected();
            self.events.disconnected(Node::ONLY, error);
        }
    }

    fn answered(&mut self, node: usize, answer: Answer) {
        if let Err(error) = &answer.result
            && error.is_disconnected()
        {
            self.down(node, error.clone());
        }
        self.note(node, &answer);
        let Answer { request, result } = answer;
        if let Some(mut job) = self.take_job(request.id.0) {
            job.put(node, (&request.name, &request.op), result);
            self.decide(job);
        }
    }

    pub(super) fn tick(&mut self) {
        self.nodes.retry(self.now);
        while let Some(&(at, due)) = self.timers.first()
            && at <= self.now
        {
            self.timers.pop_first();
            match due {
                Due::Job(number) => {
                    if let Some(job) = self.take_job(number) {
                        self.decide(job);
                    }
                }
                Due::Withdraw(ticket) => self.withdraw(ticket),
            }
        }
    }

    /// When to call [`tick`](Self::tick) next.
    pub(super) fn next(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(self.nodes.next_retry()).min()
    }

    pub(super) fn is_done(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The member sends no more requests, so tickets are withdrawn now instead of later.
    pub(super) fn close(&mut self) {
        for (at, due) in std::mem::take(&mut self.timers) {
            match due {
                Due::Withdraw(ticket) => self.withdraw(ticket),
                Due::Job(_) => self.arm(at, due),
            }
        }
    }

    pub(super) fn arm(&mut self, at: Instant, due: Due) {
        if at != Instant::NEVER {
            self.timers.insert((at, due));
        }
    }

    /// If there are many tickets, drops those that the member will not release.
    pub(super) fn sweep(&mut self) {
        if self.tickets.len() >= self.sweep_at {
            let now = self.now;
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

    fn disconnected(&self) -> StoreError {
        StoreError::disconnected(self.nodes.cause(self.nodes.majority()))
    }

    pub(super) fn trouble(&self, votes: &Votes, enough: usize) -> StoreError {
        let trouble = votes.trouble().cloned();
        trouble.unwrap_or_else(|| self.unreachable(enough))
    }

    pub(super) fn unreachable(&self, enough: usize) -> StoreError {
        if !self.connected {
            return self.disconnected();
        }
        // Not a disconnection: the member would wait for a reconnect, although a majority is still connected.
        StoreError::new(StoreErrorKind::Busy, self.nodes.cause(enough))
    }
}
