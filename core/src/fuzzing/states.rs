//! States of names as bytes: whatever can be decoded comes back from its own bytes, and takes operations.

use std::time::Duration;

use crate::store::{Env, LIMITS, Lease, MemberId, Mode, Op, Share, SharedStr, State, Ticket};

/// By the store's clock.
const AT: u64 = 1 << 50;

/// Decodes `bytes`.
pub fn states(bytes: &[u8]) {
    let Ok(mut state) = State::decode(bytes, AT) else {
        return;
    };
    let again = state.encode(AT).and_then(|bytes| State::decode(&bytes, AT));
    assert_eq!(again.as_ref(), Ok(&state));
    let ticket = Ticket::from_bytes([7; 16]);
    let lease = Lease::of(ticket, 1, Duration::from_secs(1));
    let acquire = Op::Acquire {
        lease,
        share: Share::MUTEX,
        mode: Mode::Queue,
        meta: SharedStr::EMPTY,
    };
    let release = Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: true,
        used: 0,
    };
    let touch = Op::Touch { lease, units: 0 };
    for (seconds, op) in [acquire, touch, release, Op::Force].iter().enumerate() {
        let env = Env {
            now: AT + 1_000_000 * seconds as u64,
            grants_from: 0,
            member: MemberId::from_bytes([8; 16]),
            limits: &LIMITS,
            hears: &|_| true,
        };
        state.on(op, &env, &mut Vec::new());
        state.inspect(env.now, 0, &LIMITS);
    }
    state.kept_until(&LIMITS);
}
