//! In a test in virtual time, a bare state is fed with the same inputs as that of the name, and what follows must be
//! the same. So no rule can hide in the shell around it.

use std::sync::Arc;

use auto_mutex_protocol::client::{Effect, Env, Input, State};

use super::waiter::Waiter;
use crate::store::Ticket;

/// Feeds `input`, with the tickets that the state of the name has drawn for it, and compares what follows.
pub(super) fn replay(
    bare: &mut State<Arc<Waiter>>,
    input: Input<Arc<Waiter>>,
    env: &Env<'_>,
    drawn: Vec<Ticket>,
    effects: &[Effect<Arc<Waiter>>],
) {
    let (shown, mut again) = (format!("{input:?}"), Vec::new());
    let mut drawn = drawn.into_iter();
    let mut draw = || drawn.next().expect("the bare state drew no more tickets");
    let mut env = Env {
        outage: env.outage.clone(),
        ticket: &mut draw,
        ..*env
    };
    bare.on(input, &mut env, &mut again);
    assert_eq!(again, effects, "after {shown}");
    assert!(drawn.next().is_none(), "the bare state drew fewer tickets");
}

/// The bare state has the same calls.
impl PartialEq for super::waiter::Waiter {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
