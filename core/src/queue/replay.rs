//! [`Replay`]: in a test in virtual time, a bare state is fed with the same inputs as that of the name, and what follows
//! must be the same. So no rule can hide in the shell around it.

use auto_mutex_protocol::client::{self, Caller, Effect, Env, Input, State};

use super::waiter::Call;
use crate::store::Ticket;

#[derive(Default)]
pub(super) struct Replay {
    state: State<client::Call>,
    effects: Vec<Effect<client::Call>>,
}

impl Replay {
    /// Feeds `input`, with the tickets that the state of the name has drawn for it, and compares what follows.
    pub(super) fn on(
        &mut self,
        input: &Input<client::Call>,
        env: Env<'_>,
        drawn: &[Ticket],
        effects: &[Effect<Call>],
    ) {
        let mut drawn = drawn.iter().copied();
        let mut draw = || drawn.next().expect("the bare state drew no more tickets");
        let mut env = Env {
            ticket: &mut draw,
            ..env
        };
        self.state.on(input.clone(), &mut env, &mut self.effects);
        let told: Vec<_> = effects.iter().map(|effect| effect.map(plain)).collect();
        assert_eq!(self.effects, told, "after {input:?}");
        assert!(drawn.next().is_none(), "the bare state drew fewer tickets");
        self.effects.clear();
    }
}

/// The call as a value.
pub(super) fn plain(call: &Call) -> client::Call {
    let want = &call.want;
    client::Call {
        id: call.id(),
        want: client::Want {
            share: want.share,
            owner: want.owner.clone(),
            terms: want.terms,
            patience: want.patience,
            meta: want.meta.clone(),
            relies: want.relies,
            waited: want.waited,
            attempts: want.attempts,
        },
        started: call.started,
    }
}
