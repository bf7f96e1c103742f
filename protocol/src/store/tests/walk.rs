//! Long random walks, each with its own rules. Some of their requests are such as no member would send.

use std::fmt::Write as _;

use auto_mutex_model::network::{Request, Retain, Ticket, Verb, Wish};
use auto_mutex_model::rules::{Faults, Rules};
use auto_mutex_model::world::Action;

use super::twin::Twin;
use super::words::Words;
use crate::Dice;

const STEPS: usize = 150;
/// More calls than a member can make in one walk.
const CALLS: u8 = 100;

/// Makes a walk, and panics if the stores differ.
pub(super) fn must_agree(seed: u64) {
    if let Err(difference) = walk(seed, |_| {}) {
        panic!(
            "{difference}\nRepeat it:\nAUTO_MUTEX_SEED={seed} cargo test -p auto-mutex-core --lib \
             the_memory_store_does_what_the_checked_model_does"
        );
    }
}

/// Makes a walk. `fault` changes the rules of the model. An error contains the steps of the walk and the difference.
pub(super) fn walk(seed: u64, fault: impl FnOnce(&mut Rules)) -> Result<(), String> {
    let mut dice = Dice(seed);
    let mut rules = rules(&mut dice);
    let mut twin = Twin::new(&rules);
    fault(&mut rules);
    let mut trail = String::new();
    for _ in 0..STEPS {
        let done = match dice.below(20) {
            0..3 => pass(&mut twin, &mut dice, &rules, &mut trail),
            3 => {
                let request = stray(&twin, &mut dice, &rules);
                let _ = writeln!(trail, "nobody's {request:?}");
                twin.ask(request, &rules)
            }
            _ => act(&mut twin, &mut dice, &rules, &mut trail),
        };
        done.map_err(|difference| format!("{rules:?}\n{trail}{difference}"))?;
    }
    Ok(())
}

fn rules(dice: &mut Dice) -> Rules {
    if dice.one_in(3) {
        // Many members wait long enough for the last of them to move up to the first waiters.
        let claim = dice.between(1, 2);
        return Rules {
            capacity: 1,
            claim,
            tomb: Words::tomb(claim),
            lease: 6,
            place: 9,
            cancels: true,
            prompt: true,
            retain: dice.between(0, 2),
            keepers: 1,
            faults: Faults::default().breaks(2),
            calls: CALLS,
            ..Rules::new(8)
        };
    }
    let members = dice.between(1, 5);
    let retain = dice.between(0, 2) * dice.between(0, 2);
    let claim = dice.of(&[1, 1, 2, 4]);
    let tomb = Words::tomb(claim);
    let mut faults = Faults {
        breaks: dice.between(0, 4),
        losses: dice.between(0, 2),
        copies: dice.between(0, 2),
        crashes: dice.between(0, 1),
        doubts: dice.between(0, 3),
        ..Faults::default()
    };
    // At most one of these, because a replica's clock would not be stepped back together with the store's.
    match dice.below(5) {
        0 => faults.restarts = 2,
        1 => faults.failovers = 2,
        2 => faults.steps_back = 2,
        _ => {}
    }
    Rules {
        capacity: dice.between(1, members.min(3)),
        calls: CALLS,
        lease: dice.between(1, 5),
        retain,
        keepers: dice.between(0, members),
        claim,
        place: dice.between(1, 8),
        tomb,
        late: dice.between(1, tomb - 1),
        closed: dice.between(0, 4),
        doubt: dice.between(1, 3),
        cancels: dice.one_in(2),
        prompt: dice.one_in(2),
        faults,
        ..Rules::new(members)
    }
}

fn note(trail: &mut String, action: &Action) {
    // Writing to a String cannot fail.
    let _ = writeln!(trail, "{action}");
}

/// Lets time pass: usually one tick, sometimes enough to end every lease, place or tombstone.
fn pass(twin: &mut Twin, dice: &mut Dice, rules: &Rules, trail: &mut String) -> Result<(), String> {
    let ticks = match dice.below(30) {
        0 => rules.tomb,
        1..3 => rules.place,
        3..5 => rules.lease,
        _ => 1,
    };
    for _ in 0..ticks {
        note(trail, &Action::Tick(0));
        twin.happen(&Action::Tick(0), rules)?;
    }
    Ok(())
}

fn act(twin: &mut Twin, dice: &mut Dice, rules: &Rules, trail: &mut String) -> Result<(), String> {
    let mut actions = Vec::new();
    twin.world.enabled(rules, &mut actions);
    actions.retain(|action| !matches!(action, Action::Tick(_)));
    if actions.is_empty() {
        return Ok(());
    }
    let action = actions.swap_remove(dice.below(actions.len() as u64) as usize);
    note(trail, &action);
    twin.happen(&action, rules)
}

/// Returns a request that no member would send now.
fn stray(twin: &Twin, dice: &mut Dice, rules: &Rules) -> Request {
    let member = dice.below(twin.world.members.len() as u64) as u8;
    let next = twin.world.members[usize::from(member)].next;
    let mut wish = Wish {
        counter: dice.between(0, 9),
        ..Wish::default()
    };
    if rules.retain > 0 {
        wish.retain = dice.of(&[Retain::No, Retain::InUse, Retain::Kept]);
        wish.short = dice.one_in(2);
    }
    let verb = match dice.below(5) {
        0..2 => Verb::Acquire(wish),
        2..4 => Verb::Touch(wish),
        _ => Verb::Release {
            tomb: dice.one_in(2),
        },
    };
    Request {
        ticket: Ticket {
            member,
            number: dice.between(next.saturating_sub(3), next),
        },
        verb,
    }
}
