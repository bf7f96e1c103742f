//! [`Quorum`]: one member's tickets, and what is under way for them. Here: who gets which input; what is done about it
//! stands in the other files.
//!
//! It knows neither threads nor sockets nor the time: the driver brings what happened and takes the [`Output`]s away.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use super::crowd::Crowds;
use super::entry::Entry;
use super::inbox::Input;
use super::jitter::Jitter;
use super::listen::Listen;
use super::lost::Pause;
use super::nodes::{Nodes, Part, Purpose};
use super::query::Query;
use super::release::Release;
use super::renew::Renew;
use super::round::Round;
use crate::clock::Instant;
use crate::error::{StoreError, StoreErrorKind};
use crate::name::Name;
use crate::store::{Answer, Closing, Message, Op, Reply, Request, Ticket, TicketMap};

/// What the member is told.
#[derive(Debug)]
pub(super) enum Output {
    Answer(Answer),
    Told(Name, Message),
    Connected(u64),
    Closed(Option<Closing>),
    Disconnected(StoreError),
    StillDisconnected(StoreError),
}

/// A request of the member that the nodes are asked about.
#[derive(Debug)]
pub(super) enum Job {
    Round(Round),
    Pause(Pause),
    Renew(Renew),
    Release(Release),
    Listen(Listen),
    Query(Query),
}

/// What comes at a point in time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Job(u64),
    /// The node's notification of a ticket that is gone goes to others.
    Withdraw(Ticket),
    /// What the node has refused to release is sent again.
    Owed(usize),
}

pub(super) struct Quorum {
    pub(super) nodes: Nodes,
    pub(super) tickets: TicketMap<Entry>,
    pub(super) jobs: HashMap<u64, Job>,
    pub(super) now: Instant,
    pub(super) crowds: Crowds,
    pub(super) jitter: Jitter,
    /// How long the last round took that was won.
    pub(super) took: Duration,
    timers: BTreeMap<(Instant, u64), Due>,
    out: VecDeque<Output>,
    last: u64,
    /// How often a majority could be reached anew.
    generation: u64,
    connected: bool,
}

impl Quorum {
    pub(super) fn new(nodes: Nodes) -> Self {
        let connected = nodes.are_connected();
        let mut quorum = Self {
            nodes,
            tickets: TicketMap::default(),
            jobs: HashMap::new(),
            now: Instant::now(),
            crowds: Crowds::default(),
            jitter: Jitter::new(),
            took: Duration::ZERO,
            timers: BTreeMap::new(),
            out: VecDeque::new(),
            last: 0,
            generation: 0,
            connected: false,
        };
        if connected {
            quorum.connect();
        }
        quorum
    }

    /// One thing happened.
    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Asked(request) => self.asked(request),
            Input::Answered(node, answer) => self.answered(node, answer),
            Input::Told(node, name, message) => self.told(node, &name, message),
            Input::Up(node) => {
                self.nodes.note_up(node, self.now);
                if self.nodes.are_connected() && !self.connected {
                    self.connect();
                }
                self.listen_again(node);
            }
            Input::Closed(node, closing) => {
                let closing = self.nodes.note_closed(node, closing, self.now);
                self.out.push_back(Output::Closed(closing));
            }
            Input::Down(node, error) => self.down(node, error),
            Input::StillDown(node, error) => {
                self.nodes.note_down(node, error);
                if !self.connected {
                    let error = self.disconnected();
                    self.out.push_back(Output::StillDisconnected(error));
                }
            }
        }
        while let Some((node, answer)) = self.nodes.refused.pop() {
            self.answered(node, answer);
        }
    }

    /// A majority can be reached.
    fn connect(&mut self) {
        self.connected = true;
        self.generation += 1;
        self.out.push_back(Output::Connected(self.generation));
    }

    fn down(&mut self, node: usize, error: StoreError) {
        self.nodes.note_down(node, error);
        if self.connected && !self.nodes.are_connected() {
            self.connected = false;
            let error = self.disconnected();
            self.out.push_back(Output::Disconnected(error));
        }
    }

    /// What is due at this time.
    pub(super) fn tick(&mut self) {
        while let Some(first) = self.timers.first_entry()
            && first.key().0 <= self.now
        {
            match first.remove() {
                Due::Job(number) => {
                    if let Some(job) = self.jobs.remove(&number) {
                        self.decide(number, job);
                    }
                }
                Due::Withdraw(ticket) => self.withdraw(ticket),
                Due::Owed(node) => self.nodes.pay_again(node, self.now),
            }
        }
    }

    /// When to come again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|(key, _)| key.0)
    }

    pub(super) fn outputs(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// Whether every request is answered.
    pub(super) fn is_done(&self) -> bool {
        self.jobs.is_empty()
    }

    fn asked(&mut self, request: Request) {
        match &request.op {
            Op::Acquire { .. } | Op::Adopt { .. } | Op::Touch { .. } => self.ticket_asked(request),
            Op::Release { .. } => self.release(request),
            _ => self.query(request),
        }
    }

    fn answered(&mut self, node: usize, answer: Answer) {
        let purpose = Purpose::of(answer.request.id);
        if let Err(error) = &answer.result
            && error.is_disconnected()
        {
            self.down(node, error.clone());
        }
        self.note(node, &answer);
        if let Some(mut job) = self.jobs.remove(&purpose.job) {
            let first = purpose.part == Part::Main;
            match &mut job {
                Job::Round(round) => round.put(first, node, answer.result),
                Job::Pause(_) => {}
                Job::Renew(renew) => renew.votes.put(node, answer.result),
                Job::Release(release) => release.votes.put(node, answer.result),
                Job::Listen(listen) => listen.votes.put(node, answer.result),
                Job::Query(query) => query.put(first, node, answer.result),
            }
            self.decide(purpose.job, job);
        }
    }

    /// Ends a job, or keeps it.
    fn decide(&mut self, number: u64, job: Job) {
        match job {
            Job::Round(round) => self.decide_round(number, round),
            Job::Pause(pause) => self.end_pause(number, pause),
            Job::Renew(renew) => self.decide_renewal(number, renew),
            Job::Release(release) => self.decide_release(number, release),
            Job::Listen(listen) => self.decide_listening(number, listen),
            Job::Query(query) => self.decide_query(number, query),
        }
    }

    /// The member asks for nothing more: what would be done later is done now.
    pub(super) fn close(&mut self) {
        for due in std::mem::take(&mut self.timers).into_iter() {
            match due {
                (_, Due::Withdraw(ticket)) => self.withdraw(ticket),
                (key, due) => drop(self.timers.insert(key, due)),
            }
        }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn arm(&mut self, at: Instant, due: Due) {
        if at != Instant::NEVER {
            let number = self.number();
            self.timers.insert((at, number), due);
        }
    }

    pub(super) fn answer(&mut self, request: Request, result: Result<Reply, StoreError>) {
        self.out
            .push_back(Output::Answer(Answer { request, result }));
    }

    pub(super) fn tell(&mut self, name: Name, message: Message) {
        self.out.push_back(Output::Told(name, message));
    }

    fn disconnected(&self) -> StoreError {
        let needed = super::enough::majority(self.nodes.len());
        StoreError::disconnected(self.nodes.cause(needed))
    }

    /// Why so many could not be had.
    pub(super) fn unreachable(&self, needed: usize) -> StoreError {
        if !self.connected {
            return self.disconnected();
        }
        // The member asks again when the connection is back, but it is there.
        StoreError::new(StoreErrorKind::Busy, self.nodes.cause(needed))
    }
}
