//! [`Replay`]: in a test in virtual time, a bare state is fed with the same inputs as that of the name, and what follows
//! must be the same. So no rule can hide in the shell around it.

use std::sync::Arc;

use auto_mutex_protocol::client::{Effect, Env, Input, State};

use super::waiter::Waiter;
use crate::store::Ticket;

#[derive(Default)]
pub(super) struct Replay {
    state: State<Arc<Waiter>>,
    effects: Vec<Effect<Arc<Waiter>>>,
}

impl Replay {
    /// Feeds `input`, with the tickets that the state of the name has drawn for it, and compares what follows.
    pub(super) fn on(
        &mut self,
        input: Input<Arc<Waiter>>,
        env: &Env<'_>,
        drawn: &[Ticket],
        effects: &[Effect<Arc<Waiter>>],
    ) {
        let mut drawn = drawn.iter().copied();
        let mut draw = || drawn.next().expect("the bare state drew no more tickets");
        let mut env = Env {
            now: env.now,
            limits: env.limits,
            client: env.client,
            view: env.view,
            outage: env.outage.clone(),
            closed: env.closed,
            ticket: &mut draw,
        };
        let shown = format!("{input:?}");
        self.state.on(input, &mut env, &mut self.effects);
        assert_eq!(self.effects, effects, "after {shown}");
        assert!(drawn.next().is_none(), "the bare state drew fewer tickets");
        self.effects.clear();
    }
}

/// The bare state has the same calls.
impl PartialEq for Waiter {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
