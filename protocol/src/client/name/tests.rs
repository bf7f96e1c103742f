//! The rules as a value: without a client around them. Most tests of the rules drive a whole client, in
//! `core/src/queue/tests`.

use alloc::vec::Vec;
use core::time::Duration;
use std::collections::HashSet;

use super::*;
use crate::client::*;
use crate::{LIMITS, Mode, Reply, Share, SharedStr};

const SECOND: Duration = Duration::from_secs(1);
const TIMES: ClientTimes = ClientTimes {
    lease: Duration::from_secs(10),
    beat: Duration::from_secs(3),
    store_timeout: Duration::from_secs(5),
    handoff: (100, Duration::from_millis(5)),
    skips: false,
};

struct Rig {
    state: State<Call>,
    now: Instant,
    tickets: u8,
}

impl Rig {
    fn new() -> Self {
        Self {
            state: State::default(),
            now: Instant::START.after(60 * SECOND),
            tickets: 0,
        }
    }

    fn on(&mut self, input: Input<Call>) -> Vec<Effect<Call>> {
        let mut effects = Vec::new();
        let tickets = &mut self.tickets;
        let mut ticket = || {
            *tickets += 1;
            TicketId::from_bytes([*tickets; 16])
        };
        let mut env = Env {
            now: self.now,
            limits: &LIMITS,
            client: &TIMES,
            view: View {
                is_open: true,
                may_keep: true,
                ..View::default()
            },
            outage: None,
            closed: None,
            ticket: &mut ticket,
        };
        self.state.on(input, &mut env, &mut effects);
        effects
    }

    fn call(&self, id: u64, share: Share) -> Call {
        Call {
            id: CallId(id),
            want: Want::new(
                share,
                Tenure::default(),
                Patience::Queue(None),
                SharedStr::from("host 1 site"),
            ),
            started: self.now,
        }
    }

    fn enter(&mut self, id: u64, share: Share) -> Vec<Effect<Call>> {
        let call = self.call(id, share);
        self.on(Input::Enter(call))
    }
}

fn only<T: core::fmt::Debug>(mut effects: Vec<T>) -> T {
    assert_eq!(effects.len(), 1, "{effects:?}");
    effects.remove(0)
}

fn sent(effects: Vec<Effect<Call>>) -> Op {
    match only(effects) {
        Effect::Send { op, .. } => op,
        other => panic!("{other:?}"),
    }
}

fn answered(op: Op, reply: Reply) -> Input<Call> {
    Input::Answered {
        ask: AskId(0),
        op,
        result: Ok(reply),
    }
}

#[test]
fn a_call_asks_holds_and_releases_and_leaves_nothing() {
    let mut rig = Rig::new();
    let asked = sent(rig.enter(1, Share::MUTEX));
    assert!(
        matches!(
            &asked,
            Op::Acquire {
                mode: Mode::Queue,
                ..
            }
        ),
        "{asked:?}"
    );
    let granted = Reply::Granted {
        token: 17,
        signal: None,
    };
    match only(rig.on(answered(asked, granted))) {
        Effect::Granted { caller, grant, .. } => {
            assert_eq!((caller.id(), grant.token), (CallId(1), 17 * 1024));
            assert_eq!(grant.valid, rig.now.validity(TIMES.lease));
        }
        other => panic!("{other:?}"),
    }
    let hold = CallId(1);
    let mut effects = rig.on(Input::Release {
        hold,
        returns: false,
        ask: Some((AskId(2), SECOND)),
    });
    let how = Ended::Released;
    let asked = true;
    assert_eq!(effects.remove(0), Effect::Ended { hold, how, asked });
    let released = sent(effects);
    assert!(!rig.state.is_idle());
    let confirmed = rig.on(answered(released, Reply::Released { free: 1 }));
    let (ask, result) = (AskId(2), Ok(Some(1)));
    assert_eq!(only(confirmed), Effect::Confirmed { ask, result });
    assert!(rig.state.is_forgettable(rig.now, &LIMITS));
}

#[test]
fn the_same_inputs_make_the_same_state() {
    let run = |ids: [u64; 2]| {
        let mut rig = Rig::new();
        for id in ids {
            rig.enter(id, Share::of(1, 2));
        }
        rig.state
    };
    let states: HashSet<_> = [run([1, 2]), run([1, 2]), run([1, 3])].into();
    assert_eq!(states.len(), 2);
}

#[test]
fn what_was_for_one_who_has_gone_in_the_same_step_goes_to_nobody_who_came_later() {
    let mut rig = Rig::new();
    rig.enter(1, Share::of(1, 2));
    rig.now = rig.now.after(SECOND);
    rig.enter(2, Share::of(1, 2));
    rig.state.waiters.pop_front();
    let tickets = &rig.state.tickets;
    let served = tickets.iter().map(|ticket| rig.state.waiter_of(ticket));
    assert_eq!(served.collect::<Vec<_>>(), [None, Some(0)]);
}

/// As many calls ask at the same time as there are permits. Those that come meanwhile still count.
#[test]
fn of_calls_for_permits_that_come_together_only_so_many_wait_as_may() {
    let mut rig = Rig::new();
    let call = |rig: &mut Rig, id| {
        let mut call = rig.call(id, Share::permits(1, 3));
        call.want.max_waiters = Some(4);
        rig.on(Input::Enter(call))
    };
    let queued = || Reply::Queued {
        position: 1,
        again: SECOND,
        holder: None,
    };
    // The first call waits, and asks how many wait elsewhere: nobody.
    let asked = sent(call(&mut rig, 1));
    let counts = sent(rig.on(answered(asked, queued())));
    assert!(matches!(counts, Op::Inspect { .. }), "{counts:?}");
    rig.on(answered(counts, Reply::Info(crate::NameRecord::default())));

    let mut effects: Vec<_> = (2..=7).flat_map(|id| call(&mut rig, id)).collect();
    let mut refused = Vec::new();
    while !effects.is_empty() {
        for effect in core::mem::take(&mut effects) {
            match effect {
                Effect::Send { op, .. } => effects.extend(rig.on(answered(op, queued()))),
                Effect::Failed { caller, .. } => refused.push(caller.id().0),
                _ => {}
            }
        }
    }
    refused.sort_unstable();
    assert_eq!(refused, [5, 6, 7]);
}
