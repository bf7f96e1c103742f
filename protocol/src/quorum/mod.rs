//! The rounds of a quorum: the tickets of one member on several independent servers, the nodes, of which a majority
//! decides. `docs/protocol.md` has the rules.
//!
//! [`State::on`] is one step. It reads no clock, sends nothing and draws no numbers: what comes of it is a list of
//! [`Effect`]s, in order. An answer that a node gives at once is a further input.
//!
//! | file | what it decides |
//! |---|---|
//! | `ticket`, `job`, `nodes` | what is known of a ticket, a request of the member, a node |
//! | `votes` | how many nodes are enough |
//! | `acquire` | rounds and renewals |
//! | `collision`, `backoff` | what follows a round that did not win |
//! | `wake` | who tries next after a release |
//! | `release` | how holds and waits end |
//! | `condvar` | notifications |
//! | `answers` | what answers and messages say about a ticket on a node |
//! | `query`, `record` | operations without a ticket, and what a majority knows |

mod acquire;
mod answers;
mod backoff;
mod collision;
mod condvar;
mod env;
mod input;
mod job;
mod limits;
mod nodes;
mod query;
mod record;
mod release;
#[cfg(all(test, repository))]
mod tests;
mod ticket;
mod votes;
mod wake;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

pub use self::env::{Env, Name};
pub use self::input::{Effect, Input};
use self::job::{Job, Jobs, Kind};
pub(crate) use self::limits::LIMITS;
pub use self::limits::Limits;
use self::nodes::{Node, Nodes};
pub use self::record::merged;
use self::ticket::TicketState;
pub use self::votes::majority;
use crate::{Answer, Closed, Instant, NodeChange, Op, Reply, Request, StoreError, Ticket, not_yet};

/// The tickets of one member on all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<N> {
    nodes: Vec<Node<N>>,
    rounds: Rounds<N>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rounds<N> {
    tickets: BTreeMap<Ticket, TicketState<N>>,
    jobs: Jobs<N>,
    /// For each wake queue: when this member last released, and when a node reported that it had woken a waiter.
    releases: BTreeMap<N, (Instant, Option<Instant>)>,
    /// How long the last round took that won.
    took: Duration,
    was_reached: bool,
    /// What was last reported to the member.
    connected: bool,
    closed: Option<Closed>,
    /// At this many tickets, those are dropped that the member will never release.
    sweep_at: usize,
}

/// A step while it runs.
struct Step<'a, 'b, N> {
    rounds: &'a mut Rounds<N>,
    nodes: Nodes<'a, 'b, N>,
}

impl<N: Name> State<N> {
    /// The nodes, each with whether it is connected. Says whether the quorum is.
    pub fn new(
        connected: impl IntoIterator<Item = bool>,
        env: &mut Env<'_>,
        effects: &mut Vec<Effect<N>>,
    ) -> Self {
        let down = |connected: bool| (!connected).then(not_yet);
        let nodes = connected
            .into_iter()
            .map(|connected| Node::new(down(connected)));
        let mut state = Self {
            nodes: nodes.collect(),
            rounds: Rounds {
                tickets: BTreeMap::new(),
                jobs: Jobs::default(),
                releases: BTreeMap::new(),
                took: Duration::ZERO,
                was_reached: false,
                connected: false,
                closed: None,
                sweep_at: env.limits.quorum.sweep,
            },
        };
        state.step(env, effects).begin();
        state
    }

    /// What an input changes, and what follows from it: added to `effects`, in order.
    #[inline]
    pub fn on(&mut self, input: Input<N>, env: &mut Env<'_>, effects: &mut Vec<Effect<N>>) {
        self.step(env, effects).run(input);
    }

    /// When the next [`Input::Due`] is due; `None` if not before another input.
    pub fn next_due(&self) -> Option<Instant> {
        let retries = self.nodes.iter().filter_map(Node::retry);
        self.rounds.jobs.next_due().into_iter().chain(retries).min()
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.rounds.jobs.is_empty()
    }

    #[inline]
    fn step<'a, 'b>(
        &'a mut self,
        env: &'a mut Env<'b>,
        effects: &'a mut Vec<Effect<N>>,
    ) -> Step<'a, 'b, N> {
        Step {
            nodes: Nodes::new(&mut self.nodes, env, effects),
            rounds: &mut self.rounds,
        }
    }
}

/// What simulations look at.
#[cfg(any(test, feature = "test-util"))]
impl<N: Name> State<N> {
    /// The ticket with this public half, if the state knows one.
    pub fn ticket(&self, public: u64) -> Option<Ticket> {
        let mut tickets = self.rounds.tickets.keys().copied();
        tickets.find(|ticket| ticket.public() == public)
    }

    /// Whether the ticket may be on a node, or its release is pending there.
    pub fn may_be_on(&self, node: usize, ticket: Ticket) -> bool {
        let state = self.rounds.tickets.get(&ticket);
        state.is_some_and(|state| state.on[node].may_hold())
            || self.nodes[node].pending.contains_key(&ticket)
    }
}

impl<N: Name> Step<'_, '_, N> {
    fn begin(&mut self) {
        self.rounds.was_reached = self.nodes.up() > 0;
        self.rounds.connected = self.nodes.are_connected();
        self.nodes.report(match self.rounds.connected {
            true => NodeChange::Connected { again: false },
            false => NodeChange::Disconnected(self.nodes.disconnected()),
        });
    }

    #[inline]
    fn run(&mut self, input: Input<N>) {
        match input {
            Input::Asked(request) => self.asked(request),
            Input::Answered { node, answer } => self.answered(node, answer),
            Input::Told {
                node,
                name,
                message,
            } => self.told(node, &name, message),
            Input::Changed { node, change } => self.changed(node, change),
            Input::Due => return self.due(),
            Input::Close => return self.close(),
        }
        let closed = self.nodes.closed();
        if closed != self.rounds.closed {
            self.rounds.closed = closed;
            self.nodes.report(NodeChange::Closed(closed));
        }
    }

    fn asked(&mut self, request: Request<N>) {
        match &request.op {
            Op::Acquire { .. } | Op::Adopt { .. } | Op::Touch { .. } => self.ticket_asked(request),
            &Op::Release { ticket, .. } if !self.rounds.was_reached => {
                self.end_requests(ticket);
                self.nodes.effects.push(Effect::Answer(request.unsent()));
            }
            &Op::Release { ticket, .. } => self.release(ticket, request),
            _ => self.query(request),
        }
    }

    fn answered(&mut self, node: usize, answer: Answer<N>) {
        if let Err(error) = &answer.result
            && error.is_disconnected()
        {
            self.down(node, error.clone());
        }
        self.note(node, &answer);
        if let Some(mut job) = self.rounds.jobs.take(answer.request.id.0) {
            job.put(node, answer);
            self.decide(job);
        }
    }

    fn changed(&mut self, node: usize, change: NodeChange) {
        match change {
            NodeChange::Connected { .. } => self.up(node),
            NodeChange::Closed(closed) => self.nodes.all[node].closed = closed,
            NodeChange::Disconnected(error) | NodeChange::StillDisconnected(error) => {
                self.down(node, error);
            }
            // One server of several: its answers tell.
            NodeChange::Forgotten | NodeChange::Gone => {}
        }
    }

    fn up(&mut self, node: usize) {
        self.rounds.was_reached = true;
        self.nodes.note_up(node);
        self.look_after_places(node);
        if self.nodes.are_connected() && !self.rounds.connected {
            self.rounds.connected = true;
            self.nodes.report(NodeChange::Connected { again: true });
        }
        self.listen_again(node);
    }

    fn down(&mut self, node: usize, error: StoreError) {
        self.nodes.all[node].down = Some(error);
        if !self.nodes.are_connected() {
            let was_connected = core::mem::replace(&mut self.rounds.connected, false);
            let error = self.nodes.disconnected();
            self.nodes.report(match was_connected {
                true => NodeChange::Disconnected(error),
                false => NodeChange::StillDisconnected(error),
            });
        }
    }

    fn due(&mut self) {
        self.nodes.retry();
        self.sweep();
        while let Some(job) = self.rounds.jobs.take_due(self.nodes.now) {
            self.decide(job);
        }
    }

    fn close(&mut self) {
        while let Some(job) = self.rounds.jobs.take_withdrawal() {
            self.decide(job);
        }
    }

    /// Drops tickets that the member will never release.
    fn sweep(&mut self) {
        let Rounds {
            tickets, sweep_at, ..
        } = self.rounds;
        if tickets.len() >= *sweep_at {
            let (now, limits) = (self.nodes.now, &self.nodes.limits.quorum);
            tickets.retain(|_, state| !state.is_forsaken(now, limits));
            *sweep_at = limits.sweep.max(tickets.len() * 2);
        }
    }

    fn answer(&mut self, request: Request<N>, result: Result<Reply, StoreError>) {
        let answer = Answer { request, result };
        self.nodes.effects.push(Effect::Answer(answer));
    }

    fn new_job(&mut self, request: Request<N>, kind: Kind) -> Box<Job<N>> {
        self.rounds.jobs.start(request, kind, &self.nodes)
    }

    fn keep(&mut self, job: Box<Job<N>>) {
        self.rounds.jobs.keep(job, self.nodes.now);
    }

    fn decide(&mut self, mut job: Box<Job<N>>) {
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
