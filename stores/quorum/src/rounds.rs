//! [`Rounds`]: asks the nodes, and tells the member, what the rules of the rounds say.

use std::sync::Arc;

use auto_mutex_core::store::quorum::{Effect, Env, Input, State};
use auto_mutex_core::store::{
    Events, Instant, LIMITS, Name, Node, Store, clock, random_bytes, tell,
};

pub(super) struct Rounds {
    state: State<Name>,
    nodes: Vec<Arc<dyn Store>>,
    /// Whether a node was sent something since the last flush.
    touched: Vec<bool>,
    events: Arc<dyn Events>,
    effects: Vec<Effect<Name>>,
    /// Answers that nodes gave at once. The last one is next.
    at_once: Vec<Input<Name>>,
}

impl Rounds {
    /// The nodes, each with whether it is connected.
    pub(super) fn new(
        nodes: Vec<Arc<dyn Store>>,
        connected: impl IntoIterator<Item = bool>,
        events: Arc<dyn Events>,
    ) -> Self {
        let mut effects = Vec::new();
        let state = with_env(clock::now(), |env| State::new(connected, env, &mut effects));
        let mut rounds = Self {
            state,
            touched: vec![false; nodes.len()],
            nodes,
            events,
            effects,
            at_once: Vec::new(),
        };
        rounds.carry_out();
        rounds
    }

    pub(super) fn take(&mut self, input: Input<Name>, now: Instant) {
        let mut next = Some(input);
        while let Some(input) = next {
            with_env(now, |env| self.state.on(input, env, &mut self.effects));
            self.carry_out();
            next = self.at_once.pop();
        }
    }

    fn carry_out(&mut self) {
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Send { node, request } => {
                    self.touched[node] = true;
                    if let Some(answer) = self.nodes[node].submit(request) {
                        self.at_once.push(Input::Answered { node, answer });
                    }
                }
                Effect::Answer(answer) => self.events.answered(answer),
                Effect::Tell { name, message } => self.events.told(&name, message),
                Effect::Change(change) => self.events.node_changed(Node::ONLY, change),
                Effect::Dropped { node, releases } => tell(move || {
                    tracing::warn!(
                        node,
                        dropped = releases,
                        "too many releases wait for this server of the quorum: the server keeps these locks until their leases end"
                    );
                }),
            }
        }
    }

    pub(super) fn flush(&mut self) {
        for (node, touched) in self.nodes.iter().zip(&mut self.touched) {
            if std::mem::take(touched) {
                node.flush();
            }
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.state.next_due()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.state.is_idle()
    }
}

fn with_env<T>(now: Instant, run: impl FnOnce(&mut Env<'_>) -> T) -> T {
    run(&mut Env {
        now,
        limits: &LIMITS,
        random: &mut random_bytes,
    })
}
