//! Tickets with the same owner share a hold up to its units, and holders can return units.

use super::*;
use crate::store::RW_LOCK;

fn owned(units: u32, capacity: u32, owner: &'static str) -> Share {
    Share {
        owner: owner.into(),
        ..Share::of(units, capacity)
    }
}

fn token(reply: &Reply) -> u64 {
    match reply {
        Reply::Granted { token, .. } => *token,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_owner_shares_its_hold_past_the_queue_and_counts_once() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    let mine = || owned(1, 1, "me");
    let first = token(&world.ask(a, ta, mine(), Mode::Queue));
    assert!(!is_granted(&world.lock(b, tb)));
    let second = token(&world.ask(c, tc, mine(), Mode::Queue));
    assert_eq!(first, second);
    assert_eq!(world.info(a).used, 1);
    assert_eq!(world.release(a, ta, 0, false), Reply::Released { free: 0 });
    assert_eq!(world.granted_to(), []);
    world.release(c, tc, 0, false);
    assert_eq!(world.granted_to(), [b]);
}

#[test]
fn who_waits_enters_when_its_owner_does() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc), (d, td)) = (ids(), ids(), ids(), ids());
    world.lock(a, ta);
    world.ask(b, tb, owned(1, 1, "me"), Mode::Queue);
    world.lock(c, tc);
    world.ask(d, td, owned(1, 1, "me"), Mode::Queue);
    world.release(a, ta, 0, false);
    assert_eq!(world.granted_to(), [b, d]);
}

#[test]
fn a_hold_is_not_shared_for_more_than_it_has() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc), (d, td)) = (ids(), ids(), ids(), ids());
    world.ask(a, ta, owned(1, RW_LOCK, "me"), Mode::Queue);
    assert!(is_granted(&world.acquire(b, tb, 1, RW_LOCK, Mode::Queue)));
    // The owner and another caller read, so a writer of the same owner must wait.
    assert!(!is_granted(&world.ask(
        c,
        tc,
        owned(RW_LOCK, RW_LOCK, "me"),
        Mode::Queue
    )));
    assert!(is_granted(&world.ask(
        d,
        td,
        owned(1, RW_LOCK, "me"),
        Mode::Queue
    )));
    assert_eq!(world.info(a).used, 2);
    for (member, ticket) in [(a, ta), (b, tb), (d, td)] {
        world.release(member, ticket, 0, false);
    }
    assert_eq!(world.granted_to(), [c]);
    assert_eq!(world.info(a).used, u64::from(RW_LOCK));
}

#[test]
fn an_owner_uses_as_much_as_its_greatest_holder() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    let used = |world: &mut World| world.info(a).used;
    world.ask(a, ta, owned(1, 4, "me"), Mode::Queue);
    world.ask(b, tb, owned(3, 4, "me"), Mode::Queue);
    assert_eq!(used(&mut world), 3);
    world.lower(b, tb, 2);
    assert_eq!(used(&mut world), 2);
    world.release(b, tb, 0, false);
    assert_eq!(used(&mut world), 1);
}

#[test]
fn units_that_are_given_back_are_granted() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    world.acquire(a, ta, 4, 4, Mode::Queue);
    world.acquire(b, tb, 3, 4, Mode::Queue);
    assert!(is_granted(&world.lower(a, ta, 2)));
    assert_eq!(world.granted_to(), []);
    assert!(is_granted(&world.lower(a, ta, 1)));
    assert_eq!(world.granted_to(), [b]);
    // A holder that returned units does not get them back.
    world.lower(a, ta, 4);
    assert_eq!(world.info(a).used, 4);
}

#[test]
fn a_refresh_is_told_to_the_holders_of_its_owner_and_to_nobody_else() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc), (d, td)) = (ids(), ids(), ids(), ids());
    for (member, ticket) in [(a, ta), (b, tb)] {
        world.ask(member, ticket, owned(1, 4, "me"), Mode::Queue);
    }
    world.ask(c, tc, owned(1, 4, "you"), Mode::Queue);
    world.ask(d, td, owned(1, 4, "me"), Mode::Queue);
    // The fourth ticket has released its hold, which is merely parked for its `at_least`.
    world.release(d, td, 5_000, false);
    world.deaf.push(b);
    let expire = Duration::from_secs(7);
    let owner = "me".into();
    let reply = world.run(c, &Op::Refresh { owner, expire });
    assert_eq!(reply, Reply::Count(1));
    let (ticket, at) = (ta, world.now);
    assert_eq!(world.told, [(a, Message::Refresh { ticket, expire, at })]);
}

#[test]
fn what_is_adopted_is_held_for_as_long_as_was_asked() {
    let mut world = World::new();
    let ((a, old), (b, ticket)) = (ids(), ids());
    world.lock(a, old);
    let adopt = Op::Adopt {
        old,
        lease: Lease::of(ticket, 9, Duration::from_secs(10)),
        meta: "h 2 s".into(),
    };
    assert!(is_granted(&world.run(b, &adopt)));
    world.pass(9_999);
    assert_eq!(world.info(b).holders.len(), 1);
    world.pass(1);
    assert_eq!(world.info(b).holders.len(), 0);
}

#[test]
fn a_token_is_raised_only_if_it_is_lower() {
    let mut world = World::new();
    let (a, ticket) = ids();
    let token = token(&world.lock(a, ticket));
    for (asked, expected) in [(token - 1, token), (token, token), (token + 9, token + 9)] {
        let raise = Op::Raise {
            ticket,
            token: asked,
        };
        let Reply::Granted { token, .. } = world.run(a, &raise) else {
            panic!("it holds");
        };
        assert_eq!(token, expected);
    }
}
