//! Ways of the explorer, gone in a World: the rules run beneath the clients that ship, with their queues and guards.

use std::collections::BTreeSet;
use std::panic::catch_unwind;

use auto_mutex_explorer::check::{refute, replay};
use auto_mutex_explorer::name::properties::EXCLUSION;
use auto_mutex_explorer::name::rules::{Clocks, SLIP, Setup, TICK, ticks};
use auto_mutex_explorer::name::runs::{all, assumptions, counterexamples, run};
use auto_mutex_explorer::name::way::follow;
use auto_mutex_explorer::name::world::Action::*;
use auto_mutex_explorer::name::world::{self, Action};
use auto_mutex_protocol::{self as store, Dice, Link, LockKind, Op, Ticket};

use super::by_hand::{ByHand, Host};
use crate::base::clock::Instant;
use crate::base::wait::lock;
use crate::store::seal;
use crate::test_kit::register::Register;

/// Goes a way of the explorer in a World. Fails if callers hold at the same time; if the fencing token of a call is not
/// greater than those of earlier calls; if at the end, one relies on a hold that the server has not; if any other
/// property does not hold; or if the clients and the server of the World do something else than the rules that the
/// explorer runs.
fn in_world(run: &Setup, way: &[Action]) {
    let start = world::World::new(run);
    let mut hand = Hand::new(run, start.members[0].now);
    follow(run, way, |before, action, after| {
        println!("{action:?}");
        hand.step(before, action);
        hand.check(after);
    });
    if run.assumed {
        hand.world.assert_backed();
    }
    let broken = replay(run, way);
    assert_eq!(broken, BTreeSet::new(), "this does not hold");
}

struct Hand<'a> {
    run: &'a Setup,
    world: ByHand,
    /// The token of the holder that an operator has seen.
    seen: u64,
    exported: Option<Ticket>,
}

impl<'a> Hand<'a> {
    fn new(run: &'a Setup, now: Instant) -> Self {
        let mut world = ByHand::new(run.clients, now, &run.limits, run.times);
        world.register = (run.assumed && run.capacity() == 1).then(Register::new);
        Self {
            run,
            world,
            seen: 0,
            exported: None,
        }
    }

    /// Does in the World what happens after this state.
    fn step(&mut self, before: &world::World, action: Action) {
        let (run, world) = (self.run, &mut self.world);
        let member = |me: u8| &before.members[usize::from(me)];
        let guard = |me, index: u8| member(me).guards[usize::from(index)].call.0;
        match action {
            Enter(me) => world.enter(me, &run.want(me, member(me).to_come - 1)),
            Release(me, index) => world.release(me, guard(me, index)),
            Export(me, index) => self.exported = Some(world.export(me, guard(me, index))),
            Adopt(me) => {
                let old = self.exported.expect("a hold that was left");
                world.adopt(me, old, &run.want(me, member(me).to_come - 1));
            }
            Leave(me, index) => {
                let call = member(me).state.waiters().nth(index.into());
                world.leave(me, call.expect("a call that waits").id.0);
            }
            Due(me) => world.due(me),
            ReleaseKept(me) => world.release_kept(me),
            Execute(me) => {
                world.execute(me);
                if run.prompt && !member(me).dead {
                    world.answer(me);
                }
            }
            Reply(me) => world.answer(me),
            Message(me, index) => world.message(me, index, (true, true)),
            Copy(me, index) => world.message(me, index, (true, false)),
            Lose(me, index) => world.message(me, index, (false, true)),
            Late(me, index) => world.late(me, index),
            Break(me) | Notice(me) => world.disconnect(me, ticks(run.late)),
            Connect(me) => world.connect(me),
            Crash(me) => world.crash(me),
            Tick(slow) => {
                let stopped = run.clocks == Clocks::Stopped;
                world.pass(TICK, |me| match slow >> me & 1 == 1 {
                    true => TICK - SLIP,
                    false if stopped => Default::default(),
                    false => TICK,
                });
            }
            StepBack => world.step_clock_back(100 * TICK),
            Doubt(me) => world.doubt(me, ticks(run.doubt)),
            Signal(all) => {
                let ticket = world::ticket(0, u32::MAX.into());
                let signal = match (run.want(0, 0).share.kind, all) {
                    (LockKind::Semaphore, _) => store::Signal::Token("t".into()),
                    (_, true) => store::Signal::All,
                    (_, false) => store::Signal::One,
                };
                world.operate(&Op::Signal { ticket, signal });
            }
            Force => world.take_away(None),
            Look => {
                let holders = world.record().holders;
                self.seen = holders.first().map_or(0, |holder| holder.token);
            }
            Kick => world.take_away(Some(std::mem::take(&mut self.seen))),
            Restart => world.restart(false, ticks(run.closed)),
            Replicate => world.replicate(),
            Failover => world.restart(true, ticks(run.closed)),
            other => panic!("this way needs \"{other:?}\", which a World by hand has not"),
        }
        world.look();
        if run.assumed {
            world.world.assert_no_overlap();
        }
    }

    /// Clients and server have done what the rules say.
    fn check(&self, rules: &world::World) {
        assert_eq!(
            self.world.state(),
            rules.store.state,
            "the server went another way"
        );
        for (host, member) in self.world.hosts.iter().zip(&rules.members) {
            let name = &self.world.name;
            assert_eq!(
                in_flight(&lock(&host.member.connection).link, String::clone),
                in_flight(&member.link, |message| seal(name, message)),
                "{} went another way",
                member.me
            );
            if !member.dead {
                assert_eq!(has(host), knows(member), "{} went another way", member.me);
            }
        }
    }
}

/// What is in flight: requests, answers, messages and late copies.
type InFlight = (bool, Vec<Op>, Vec<String>, Vec<String>, Vec<Op>);

/// `text` is that of a message.
fn in_flight<N, M, T>(link: &Link<N, M, T>, text: impl Fn(&M) -> String) -> InFlight {
    let answers = link.answers.iter();
    (
        link.connected,
        link.requests.iter().map(|sent| sent.0.op.clone()).collect(),
        answers
            .map(|(it, _)| format!("{:?} {:?}", it.request.op, it.result))
            .collect(),
        link.messages.iter().map(|sent| text(&sent.0)).collect(),
        link.late.iter().map(|((_, op), _)| op.clone()).collect(),
    )
}

/// The calls that wait; and of each that is inside, the number, ticket, token and validity.
type Calls = (BTreeSet<u64>, BTreeSet<(u64, Ticket, u64, Instant)>);

fn has(host: &Host) -> Calls {
    let inside = host.guards.iter().map(|(call, guard)| {
        let hold = guard.first();
        (*call, hold.grant.ticket, hold.grant.token, hold.valid())
    });
    (
        host.waits.iter().map(|waits| waits.0).collect(),
        inside.collect(),
    )
}

fn knows(member: &world::Member) -> Calls {
    let waits = member.state.waiters().chain(member.state.attempts());
    let inside = member.guards.iter();
    let inside = inside.map(|it| (it.call.0, it.ticket, it.token, it.valid));
    (waits.map(|call| call.id.0).collect(), inside.collect())
}

/// Whether a World by hand has it.
fn is_known(action: Action) -> bool {
    let is_unknown = matches!(
        action,
        Refuse(..)
            | Report(..)
            | Miss(..)
            | Sweep
            | Ask(..)
            | Return(..)
            | Renew(..)
            | Drain(_)
            | Close(_)
            | Overhear(..)
            | Forge(_)
            | Resume(_)
    );
    !is_unknown
}

/// A way of so many steps, at random.
fn way(run: &Setup, steps: usize, dice: &mut Dice) -> Vec<Action> {
    let (mut world, mut way, mut enabled) = (world::World::new(run), Vec::new(), Vec::new());
    for _ in 0..steps {
        world.enabled(run, &mut enabled);
        enabled.retain(|action| is_known(*action));
        if enabled.is_empty() {
            break;
        }
        let action = dice.of(&enabled);
        enabled.clear();
        world.happen(action, run);
        world.canonical(run);
        way.push(action);
    }
    way
}

/// In the first four, the explorer forgets when a call began, so there a call may end before its time. The clients of a
/// World by hand are connected when they begin, and take their locks. In the last one, the explorer forgets which call
/// has which of the units that were added.
const NOT_GONE: [&str; 7] = [
    "a_client_tries_what_another_keeps",
    "calls_miss_their_grants",
    "the_store_refuses_a_request_of_a_client_that_tries",
    "the_store_does_not_answer_in_time",
    "a_client_begins_before_it_is_connected",
    "a_program_skips_its_locks",
    "units_are_added_to_a_semaphore",
];

#[test]
fn a_world_goes_the_ways_of_the_explorer() {
    let count = std::env::var("AUTO_MUTEX_RUNS").map_or(10, |count| count.parse().unwrap());
    for run in all() {
        let rules = Setup::new(run.rules);
        if NOT_GONE.contains(&run.name) {
            continue;
        }
        for seed in 0..count {
            println!("{} {seed}", run.name);
            in_world(&rules, &way(&rules, 60, &mut Dice(seed)));
        }
    }
}

/// A World fails where the explorer finds a counterexample.
#[test]
fn a_world_shows_what_each_assumption_is_for() {
    for (assumption, rules, property) in assumptions() {
        let run = Setup::new(rules);
        let way = refute(run.clone(), property).expect(assumption);
        let ended = catch_unwind(|| in_world(&run, &way));
        let text = ended.expect_err(assumption).downcast::<String>();
        let text = text.unwrap_or_default();
        let shown = match property {
            EXCLUSION => text.contains("held at the same time"),
            _ => text.contains(property),
        };
        assert!(shown, "{assumption}: {text}");
    }
}

/// With its fault in the code, each of these ways fails.
#[test]
fn counterexamples_hold_in_a_world() {
    for (fault, name, way) in counterexamples() {
        println!("{fault}");
        in_world(&run(name), &way);
    }
}
