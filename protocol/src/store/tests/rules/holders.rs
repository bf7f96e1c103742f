//! What holders do: they return units, and hand their hold to another ticket.

use super::*;

fn token(reply: &Reply) -> u64 {
    match reply {
        Reply::Granted { token, .. } => *token,
        other => panic!("{other:?}"),
    }
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
