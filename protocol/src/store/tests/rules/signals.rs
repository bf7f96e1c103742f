//! Signals are delivered in order, once each. An unused signal gets its old position back.

use super::*;
use crate::Signal;

const KEPT: u64 = 24 * 3_600_000;

fn taker(capacity: u32) -> Share {
    Share::permits(1, capacity)
}

impl World {
    fn token(&mut self, member: MemberId, text: &str) -> Reply {
        let op = Op::Signal {
            ticket: ticket(),
            signal: Signal::Token(text.into()),
        };
        self.run(member, &op)
    }

    fn notify(&mut self, member: MemberId, signal: Signal) -> Reply {
        let ticket = ticket();
        self.run(member, &Op::Signal { ticket, signal })
    }

    /// Takes a signal of a name that has no units; returns the grant's token and the signal's text.
    fn take(&mut self, member: MemberId, ticket: Ticket) -> (u64, String) {
        match self.ask(member, ticket, taker(0), Mode::Queue) {
            Reply::Granted {
                token,
                signal: Some(text),
            } => (token, text.to_string()),
            other => panic!("{other:?}"),
        }
    }

    fn give_up(&mut self, member: MemberId, ticket: Ticket, used: u64) -> Reply {
        let op = Op::Release {
            ticket,
            park: Duration::ZERO,
            tomb: false,
            used,
        };
        self.run(member, &op)
    }
}

#[test]
fn what_was_not_used_goes_back_to_its_place() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    for text in ["one", "two", "three"] {
        world.token(a, text);
    }
    let (_, first) = world.take(a, ta);
    let (second_token, second) = world.take(b, tb);
    assert_eq!((&*first, &*second), ("one", "two"));
    assert_eq!(
        world.give_up(b, tb, second_token),
        Reply::Released { free: 1 }
    );
    // The token belongs to another grant, so it does not mark this ticket's signal as used.
    assert_eq!(
        world.give_up(a, ta, second_token),
        Reply::Released { free: 2 }
    );
    assert_eq!(world.take(a, ticket()).1, "one");
    assert_eq!(world.take(a, ticket()).1, "three");
}

#[test]
fn a_dead_holder_and_a_force_give_their_signals_back() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    world.token(a, "one");
    world.token(a, "two");
    world.take(a, ta);
    world.pass(5_000);
    world.take(b, tb);
    world.pass(5_000);
    assert_eq!(world.info(b).signals, 1, "the first has ended");
    assert_eq!(world.run(b, &Op::Force), Reply::Count(1));
    assert_eq!(world.take(a, ticket()).1, "one");
    assert_eq!(world.take(a, ticket()).1, "two");
}

#[test]
fn a_notification_wakes_no_more_than_wait() {
    let mut world = World::new();
    let (a, _) = ids();
    assert_eq!(world.notify(a, Signal::One), Reply::Count(0));
    assert!(!world.info(a).exists);
    for _ in 0..3 {
        let waiting = world.ask(a, ticket(), taker(0), Mode::Queue);
        assert!(matches!(waiting, Reply::Queued { .. }));
    }
    assert_eq!(world.notify(a, Signal::One), Reply::Count(1));
    assert_eq!(world.notify(a, Signal::All), Reply::Count(2));
    assert_eq!(world.granted_to().len(), 3);
    assert_eq!(world.info(a).signals, 0);
}

#[test]
fn a_token_is_added_once_for_its_ticket() {
    let mut world = World::new();
    let (a, ta) = ids();
    let op = Op::Signal {
        ticket: ta,
        signal: Signal::Token("a".into()),
    };
    assert_eq!(world.run(a, &op), Reply::Count(1));
    assert_eq!(world.run(a, &op), Reply::Refused);
    assert_eq!(world.info(a).signals, 1);
}

#[test]
fn a_question_that_is_refused_still_grants_on() {
    let ((a, ta), (b, tb)) = (ids(), ids());
    let refused: [&dyn Fn(&mut World) -> Reply; 2] =
        [&|world| world.run(a, &Op::Delete), &|world| {
            world.acquire(a, ticket(), 9, 8, Mode::Queue)
        }];
    for ask in refused {
        let mut world = World::new();
        world.token(a, "a");
        world.take(a, ta);
        world.pass(9_000);
        world.ask(b, tb, taker(0), Mode::Queue);
        world.pass(1_000);
        let reply = ask(&mut world);
        assert!(
            matches!(
                reply,
                Reply::InUse {
                    holders: 1,
                    waiters: 0
                } | Reply::TooMany
            ),
            "{reply:?}"
        );
        assert_eq!(world.granted_to(), [b], "{reply:?}");
    }
}

#[test]
fn signals_are_kept_for_a_day_and_all_else_for_ten_minutes() {
    let mut world = World::new();
    let (a, ta) = ids();
    let ends = |world: &World| (world.state.kept_until(&LIMITS) - world.now) / 1000;
    world.lock(a, ta);
    assert_eq!(ends(&world), 10_000 + 600_000);
    world.release(a, ta, 0, false);
    assert_eq!(ends(&world), 600_000);
    world.token(a, "a");
    assert_eq!(ends(&world), 30_000 + KEPT);
    world.take(a, ta);
    world.pass(60_000);
    assert_eq!(ends(&world), KEPT - 30_000, "nobody came since");
    world.run(a, &Op::Inspect { above: 0 });
    world.touch(a, ta);
    assert_eq!(ends(&world), KEPT, "it came back");
    world.run(a, &Op::Delete);
    assert_eq!(ends(&world), 600_000);
}

/// A notified member that considers the store closed may not claim the notification. If it keeps sending requests,
/// though, its ticket keeps precedence: a later waiter does not get the notification.
#[test]
fn a_notification_that_may_not_be_claimed_goes_to_nobody_who_came_later() {
    for speaks in [true, false] {
        let mut world = World::new();
        let ((a, ta), (b, tb)) = (ids(), ids());
        world.ask(a, ta, taker(0), Mode::Queue);
        world.notify(b, Signal::One);
        assert_eq!(world.granted_to(), [a]);
        world.ask(b, tb, taker(0), Mode::Queue);
        world.opens = world.now + 10_000_000;
        world.pass(500);
        if speaks {
            assert!(!is_granted(&world.touch(a, ta)));
        }
        world.opens = 0;
        world.pass(1_500);
        assert_eq!(is_granted(&world.touch(b, tb)), !speaks);
        assert_eq!(is_granted(&world.touch(a, ta)), speaks);
    }
}

#[test]
fn a_signal_whose_holder_has_ended_counts_as_waiting_again() {
    let mut world = World::new();
    let (a, ta) = ids();
    world.token(a, "one");
    world.take(a, ta);
    world.pass(9_999);
    assert_eq!(world.info(a).signals, 0);
    world.pass(1);
    assert_eq!(world.info(a).signals, 1);
}
