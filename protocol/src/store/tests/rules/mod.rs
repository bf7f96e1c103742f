//! The rules of `docs/protocol.md`, one at a time, with a clock by hand.

mod closed;
mod holders;
mod signals;

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use crate::{
    Dice, Env, HolderRecord, LIMITS, Lease, MemberId, Message, Mode, NameRecord, Op, RW_LOCK,
    Reply, Retain, Share, State, Ticket,
};

/// A name, a clock, and the messages that the members got.
struct World {
    state: State,
    now: u64,
    /// The store grants nothing before this time.
    opens: u64,
    told: Vec<(MemberId, Message)>,
    deaf: Vec<MemberId>,
    counter: u64,
    /// The lifetime of the place that each acquire and touch asks for.
    place: Duration,
}

impl World {
    fn new() -> Self {
        Self {
            state: State::default(),
            now: 1_700_000_000_000_000,
            opens: 0,
            told: Vec::new(),
            deaf: Vec::new(),
            counter: 0,
            place: Duration::from_secs(10),
        }
    }

    fn pass(&mut self, millis: u64) {
        self.now += millis * 1000;
    }

    fn run(&mut self, member: MemberId, op: &Op) -> Reply {
        let deaf = &self.deaf;
        let hears = |member| !deaf.contains(&member);
        let env = Env {
            now: self.now,
            grants_from: self.opens,
            member,
            limits: &LIMITS,
            hears: &hears,
        };
        let reply = self.state.on(op, &env, &mut self.told);
        self.told.retain(|(to, _)| hears(*to));
        reply
    }

    fn acquire(
        &mut self,
        member: MemberId,
        ticket: Ticket,
        units: u32,
        capacity: u32,
        mode: Mode,
    ) -> Reply {
        self.ask(member, ticket, Share::of(units, capacity), mode)
    }

    fn ask(&mut self, member: MemberId, ticket: Ticket, share: Share, mode: Mode) -> Reply {
        self.counter += 1;
        let op = Op::Acquire {
            lease: Lease {
                ticket,
                counter: self.counter,
                hold: Duration::from_secs(10),
                place: self.place,
                retain: Retain::No,
            },
            share,
            mode,
            meta: "h 1 s".into(),
        };
        self.run(member, &op)
    }

    fn lock(&mut self, member: MemberId, ticket: Ticket) -> Reply {
        self.acquire(member, ticket, 1, 1, Mode::Queue)
    }

    fn touch(&mut self, member: MemberId, ticket: Ticket) -> Reply {
        self.lower(member, ticket, 0)
    }

    fn lower(&mut self, member: MemberId, ticket: Ticket, units: u32) -> Reply {
        self.counter += 1;
        let op = Op::Touch {
            lease: Lease {
                ticket,
                counter: self.counter,
                hold: Duration::from_secs(10),
                place: self.place,
                retain: Retain::No,
            },
            units,
        };
        self.run(member, &op)
    }

    fn release(&mut self, member: MemberId, ticket: Ticket, park: u64, tomb: bool) -> Reply {
        let park = Duration::from_millis(park);
        self.run(
            member,
            &Op::Release {
                ticket,
                park,
                tomb,
                used: 0,
            },
        )
    }

    fn info(&mut self, member: MemberId) -> NameRecord {
        match self.run(member, &Op::Inspect { above: 0 }) {
            Reply::Info(record) => record,
            other => panic!("{other:?}"),
        }
    }

    fn granted_to(&self) -> Vec<MemberId> {
        let grants = self
            .told
            .iter()
            .filter(|told| matches!(told.1, Message::Grant { .. }));
        grants.map(|told| told.0).collect()
    }
}

/// Another ticket each time.
fn ticket() -> Ticket {
    ids().1
}

/// Another member and ticket each time.
fn ids() -> (MemberId, Ticket) {
    static SEED: AtomicU64 = AtomicU64::new(0);
    let mut dice = Dice(SEED.fetch_add(1, Ordering::Relaxed));
    (dice.member(), dice.ticket())
}

fn is_granted(reply: &Reply) -> bool {
    matches!(reply, Reply::Granted { .. })
}

#[test]
fn a_release_grants_the_next_in_line_and_tokens_grow() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    let Reply::Granted { token, .. } = world.lock(a, ta) else {
        panic!()
    };
    assert!(matches!(
        world.lock(b, tb),
        Reply::Queued { position: 1, .. }
    ));
    assert!(matches!(
        world.lock(c, tc),
        Reply::Queued { position: 2, .. }
    ));
    assert_eq!(world.release(a, ta, 0, false), Reply::Released { free: 0 });
    assert_eq!(world.granted_to(), [b]);
    let Reply::Granted { token: second, .. } = world.touch(b, tb) else {
        panic!()
    };
    assert!(second > token);
    assert_eq!(world.release(a, ta, 0, false), Reply::Gone);
}

/// An ended lease counts as held until an operation notices its end.
#[test]
fn a_release_comes_in_time_if_nobody_has_seen_the_lease_end() {
    for seen in [false, true] {
        let mut world = World::new();
        let ((a, ta), (b, tb)) = (ids(), ids());
        world.lock(a, ta);
        world.pass(10_001);
        if seen {
            world.touch(b, tb);
        }
        let released = world.release(a, ta, 0, false);
        match seen {
            false => assert!(matches!(released, Reply::Released { .. }), "{released:?}"),
            true => assert_eq!(released, Reply::Gone),
        }
    }
}

/// An ended lease is no longer reported, even before an operation notices its end.
#[test]
fn what_has_ended_is_not_told_of_any_more() {
    let mut world = World::new();
    let (a, ta) = ids();
    world.acquire(a, ta, 2, 3, Mode::Queue);
    world.pass(9_999);
    let info = world.info(a);
    assert_eq!((info.used, info.holders.len()), (2, 1));
    world.pass(1);
    let info = world.info(a);
    assert_eq!((info.used, info.holders.len()), (0, 0));
}

#[test]
fn who_has_spoken_within_two_seconds_is_granted_in_his_absence() {
    for (silent, granted) in [(2_000_000, true), (2_000_001, false)] {
        let mut world = World::new();
        let ((a, ta), (b, tb)) = (ids(), ids());
        world.lock(a, ta);
        world.lock(b, tb);
        world.now += silent;
        world.release(a, ta, 0, false);
        assert_eq!(world.granted_to(), [b][..usize::from(granted)]);
    }
}

#[test]
fn nobody_barges_past_the_queue() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    assert!(is_granted(&world.acquire(a, ta, 2, 3, Mode::Queue)));
    assert!(!is_granted(&world.acquire(b, tb, 3, 3, Mode::Queue)));
    // One unit is free, but the large request is first.
    assert!(!is_granted(&world.acquire(c, tc, 1, 3, Mode::Queue)));
    assert!(matches!(
        world.acquire(c, ticket(), 1, 3, Mode::Try),
        Reply::Busy { .. }
    ));
    world.release(a, ta, 0, false);
    assert_eq!(world.granted_to(), [b]);
}

#[test]
fn a_dead_holder_costs_one_lease() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    world.lock(a, ta);
    world.pass(9_000);
    assert!(!is_granted(&world.lock(b, tb)));
    world.pass(1_000);
    assert!(is_granted(&world.touch(b, tb)));
    assert_eq!(world.touch(a, ta), Reply::Gone);
}

#[test]
fn an_unclaimed_grant_passes_on_and_its_ticket_is_next() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    for (member, ticket) in [(a, ta), (b, tb), (c, tc)] {
        world.lock(member, ticket);
    }
    world.release(a, ta, 0, false);
    world.pass(2_000);
    // When `tb` has missed the time to claim, `tc` asks again and is granted by the reply.
    assert!(is_granted(&world.touch(c, tc)));
    assert_eq!(world.info(a).waiters[0].ticket, tb);
    assert!(matches!(
        world.touch(b, tb),
        Reply::Queued { position: 1, .. }
    ));
}

#[test]
fn a_waiter_nobody_hears_for_is_passed_over_and_keeps_its_place() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    for (member, ticket) in [(a, ta), (b, tb), (c, tc)] {
        world.lock(member, ticket);
    }
    world.deaf.push(b);
    world.release(a, ta, 0, false);
    assert_eq!(world.granted_to(), [c]);
    assert!(matches!(
        world.touch(b, tb),
        Reply::Queued { position: 1, .. }
    ));
}

#[test]
fn a_silent_waiter_costs_nothing() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    for (member, ticket) in [(a, ta), (b, tb), (c, tc)] {
        world.lock(member, ticket);
    }
    world.pass(3_000);
    world.touch(c, tc);
    world.release(a, ta, 0, false);
    assert_eq!(world.granted_to(), [c]);
}

#[test]
fn a_tombstone_refuses_a_late_copy() {
    let mut world = World::new();
    let (a, ta) = ids();
    assert_eq!(world.release(a, ta, 0, true), Reply::Gone);
    assert_eq!(world.lock(a, ta), Reply::Refused);
    world.pass(30_000);
    assert!(is_granted(&world.lock(a, ta)));
}

#[test]
fn a_parked_ticket_holds_for_nobody_and_cannot_be_revived() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    world.lock(a, ta);
    assert_eq!(
        world.release(a, ta, 60_000, false),
        Reply::Released { free: 0 }
    );
    assert_eq!(world.touch(a, ta), Reply::Gone);
    assert_eq!(world.lock(a, ta), Reply::Refused);
    assert!(matches!(
        world.acquire(b, tb, 1, 1, Mode::Try),
        Reply::Busy { .. }
    ));
    world.pass(60_000);
    assert!(is_granted(&world.acquire(b, tb, 1, 1, Mode::Try)));
}

#[test]
fn a_clock_stepped_back_prolongs_nothing_and_tokens_still_grow() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    let Reply::Granted { token, .. } = world.lock(a, ta) else {
        panic!()
    };
    world.now -= 3_600_000_000;
    assert!(!is_granted(&world.lock(b, tb)));
    world.pass(5_000);
    assert!(!is_granted(&world.touch(b, tb)));
    world.pass(5_000);
    let Reply::Granted { token: second, .. } = world.touch(b, tb) else {
        panic!()
    };
    assert!(second > token);
}

#[test]
fn a_touch_never_creates_and_a_force_tells_the_holder() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    assert_eq!(world.touch(a, ta), Reply::Gone);
    world.lock(a, ta);
    assert_eq!(world.run(b, &Op::Force), Reply::Count(1));
    assert_eq!(world.told, [(a, Message::Lost { ticket: ta })]);
    assert_eq!(world.touch(a, ta), Reply::Gone);
    assert!(is_granted(&world.lock(b, tb)));
}

#[test]
fn a_kick_ends_the_hold_with_its_token_and_no_newer_one() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    let Reply::Granted { token, .. } = world.lock(a, ta) else {
        panic!("not granted");
    };
    assert!(!is_granted(&world.lock(b, tb)));
    world.told.clear();
    let kick = |token| Op::Kick {
        token,
        by: "h 1 ops".into(),
    };
    assert_eq!(world.run(b, &kick(token + 1)), Reply::Count(0));
    assert_eq!(world.run(b, &kick(token)), Reply::Count(1));
    assert!(world.told.contains(&(a, Message::Lost { ticket: ta })));
    assert_eq!(world.touch(a, ta), Reply::Gone);
    // Now the waiter holds the lock. The same kick has no effect on its hold.
    assert_eq!(world.run(b, &kick(token)), Reply::Count(0));
    assert!(is_granted(&world.touch(b, tb)));
}

#[test]
fn kinds_must_agree_while_anybody_holds_or_waits() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    assert_eq!(world.acquire(a, ta, 3, 2, Mode::Queue), Reply::TooMany);
    for (first, second) in [(1, 5), (5, 1), (RW_LOCK, 5), (5, RW_LOCK)] {
        world.acquire(a, ta, 1, first, Mode::Queue);
        let mismatch = Reply::Mismatch {
            capacity: first,
            takes: false,
        };
        assert_eq!(world.acquire(b, tb, 1, second, Mode::Queue), mismatch);
        world.release(a, ta, 0, false);
    }
    assert!(is_granted(&world.acquire(b, tb, 1, 5, Mode::Queue)));
}

/// As during the rollout of a program with another number of permits.
#[test]
fn the_smallest_number_of_permits_counts() {
    let mut world = World::new();
    let old: Vec<_> = (0..3).map(|_| ids()).collect();
    let new: Vec<_> = (0..3).map(|_| ids()).collect();
    let permit = |world: &mut World, (member, ticket), permits, mode| {
        let share = Share::permits(1, permits);
        is_granted(&world.ask(member, ticket, share, mode))
    };
    assert!(permit(&mut world, new[0], 5, Mode::Queue));
    assert!(permit(&mut world, old[0], 2, Mode::Queue));
    assert!(!permit(&mut world, new[1], 5, Mode::Queue));
    assert!(!permit(&mut world, old[1], 2, Mode::Try));
    // Who needs more is refused.
    let mismatch = |capacity| Reply::Mismatch {
        capacity,
        takes: true,
    };
    let (member, ticket) = ids();
    let three = Share::permits(3, 5);
    assert_eq!(world.ask(member, ticket, three, Mode::Queue), mismatch(2));
    // The larger number counts as soon as a call with it comes and finds no other.
    world.release(old[0].0, old[0].1, 0, false);
    assert!(permit(&mut world, new[2], 5, Mode::Try));
    // A number that is too small for somebody who waits is refused, too.
    assert!(!is_granted(&world.ask(member, ticket, three, Mode::Queue)));
    let two = Share::permits(1, 2);
    assert_eq!(world.ask(old[2].0, old[2].1, two, Mode::Queue), mismatch(5));
    // A number counts while a call with it waits.
    world.release(member, ticket, 0, false);
    assert!(!permit(&mut world, old[2], 2, Mode::Queue));
    assert!(!permit(&mut world, (member, ticket), 5, Mode::Try));
    world.release(old[2].0, old[2].1, 0, false);
    assert!(permit(&mut world, (member, ticket), 5, Mode::Try));
}

#[test]
fn the_fourth_is_told_when_it_enters_the_first_three() {
    let mut world = World::new();
    let (a, ta) = ids();
    world.lock(a, ta);
    let waiting: Vec<_> = (0..4).map(|_| ids()).collect();
    for &(member, ticket) in &waiting {
        world.lock(member, ticket);
    }
    // The reply to the fourth waiter's second request says that it need not ask again for a while.
    let (fourth, ticket) = waiting[3];
    let again = |reply| match reply {
        Reply::Queued { again, .. } => again,
        other => panic!("{other:?}"),
    };
    assert!(again(world.touch(fourth, ticket)) > Duration::from_secs(2));
    world.release(a, ta, 0, false);
    assert!(world.told.contains(&(fourth, Message::Near { ticket })));
}

#[test]
fn who_has_just_come_asks_again_soon_and_need_not_be_told() {
    let mut world = World::new();
    let (a, ta) = ids();
    world.lock(a, ta);
    let waiting: Vec<_> = (0..6).map(|_| ids()).collect();
    for &(member, ticket) in &waiting {
        let Reply::Queued { again, .. } = world.lock(member, ticket) else {
            panic!("not queued");
        };
        assert!(again < Duration::from_secs(2), "{again:?}");
    }
    world.release(a, ta, 0, false);
    let near = |told: &(MemberId, Message)| matches!(told.1, Message::Near { .. });
    assert!(!world.told.iter().any(near), "{:?}", world.told);
}

/// All waiters ask again within a third of their place's lifetime, to keep the place. The first waiters and new ones
/// also ask within `NEAR_MS`.
#[test]
fn waiters_ask_again_in_time() {
    let mut world = World::new();
    let (a, ta) = ids();
    world.lock(a, ta);
    let mut asks = |ticket: Ticket, place: u64, comes: bool| {
        world.place = Duration::from_millis(place);
        let reply = match comes {
            true => world.lock(a, ticket),
            false => world.touch(a, ticket),
        };
        match reply {
            Reply::Queued { again, .. } => again.as_millis(),
            other => panic!("{other:?}"),
        }
    };
    let tickets: Vec<_> = (0..4).map(|_| ticket()).collect();
    for &ticket in &tickets[..3] {
        assert_eq!(asks(ticket, 9_000, true), 1_100);
    }
    assert_eq!(asks(tickets[3], 900, true), 300);
    assert_eq!(asks(tickets[3], 9_000, false), 3_000);
    assert_eq!(asks(tickets[0], 900, false), 300);
}

#[test]
fn a_name_shrinks_only_when_it_is_idle_and_keeps_its_token() {
    let mut world = World::new();
    let (a, ta) = ids();
    let Reply::Granted { token, .. } = world.lock(a, ta) else {
        panic!()
    };
    world.state.shrink();
    assert!(is_granted(&world.touch(a, ta)), "it still holds");
    world.pass(5_000);
    world.release(a, ta, 0, false);
    let kept = world.state.kept_until(&LIMITS);
    world.state.shrink();
    assert!(world.info(a).exists);
    assert_eq!(world.state.kept_until(&LIMITS), kept);
    world.now -= 6_000_000;
    let Reply::Granted { token: second, .. } = world.lock(a, ticket()) else {
        panic!()
    };
    assert!(second > token);
}

#[test]
fn a_tombstone_outlives_a_step_back_of_the_clock() {
    let mut world = World::new();
    let (a, ticket) = ids();
    assert_eq!(world.release(a, ticket, 0, true), Reply::Gone);
    world.now -= 40_000_000;
    assert_eq!(world.lock(a, ticket), Reply::Refused);
}

#[test]
fn whoever_does_not_get_it_is_told_who_has_it() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    let Reply::Granted { token, .. } = world.lock(a, ta) else {
        panic!("it is free");
    };
    let meta = "h 1 s".into();
    let has_it = Some(HolderRecord { token, meta });
    let Reply::Queued { holder, .. } = world.lock(b, tb) else {
        panic!("it is taken");
    };
    assert_eq!(holder, has_it);
    let busy = world.acquire(c, tc, 1, 1, Mode::Try);
    assert_eq!(busy, Reply::Busy { holder: has_it });
}

#[test]
fn what_is_used_counts_until_its_lease_ends() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    world.acquire(a, ta, 2, 5, Mode::Queue);
    world.pass(1_000);
    world.acquire(b, tb, 1, 5, Mode::Queue);
    assert_eq!(world.info(a).used, 3);
    world.pass(9_000);
    assert_eq!(world.info(a).used, 1);
    world.pass(1_000);
    assert_eq!(world.info(a).used, 0);
}

#[test]
fn who_claims_nothing_keeps_its_place_for_as_long_as_the_place_lasts() {
    for (place, kept) in [(2_000, false), (2_001, true)] {
        let mut world = World::new();
        let ((a, ta), (b, tb)) = (ids(), ids());
        world.lock(a, ta);
        world.place = Duration::from_millis(place);
        world.lock(b, tb);
        world.release(a, ta, 0, false);
        assert_eq!(world.granted_to(), [b]);
        world.pass(2_000);
        assert_eq!(world.touch(b, tb) != Reply::Gone, kept);
    }
}

#[test]
fn a_token_ahead_of_the_clock_is_kept_for_as_long_as_others() {
    let mut world = World::new();
    let (member, ticket) = ids();
    for _ in 0..1000 {
        world.lock(member, ticket);
        world.release(member, ticket, 0, false);
    }
    let token = world.state.token();
    assert!(token >= world.now + 999);
    assert!(world.state.kept_until(&LIMITS) >= token + 600_000_000);
}
