//! A closed store, and its handling of grants from before it was closed.

use super::*;

impl World {
    fn close(&mut self, millis: u64) {
        self.opens = self.now + millis * 1000;
    }

    /// A lock whose second ticket was granted by the release of the first, and has not claimed yet.
    fn unclaimed() -> (Self, (MemberId, Ticket), (MemberId, Ticket)) {
        let mut world = Self::new();
        let ((a, ta), (b, tb)) = (ids(), ids());
        world.lock(a, ta);
        world.lock(b, tb);
        world.release(a, ta, 0, false);
        assert_eq!(world.granted_to(), [b]);
        (world, (a, ta), (b, tb))
    }
}

#[test]
fn a_holder_renews() {
    let mut world = World::new();
    let (a, ta) = ids();
    world.lock(a, ta);
    world.close(40_000);
    for _ in 0..4 {
        world.pass(9_000);
        assert!(is_granted(&world.touch(a, ta)));
    }
}

#[test]
fn nobody_gets_what_is_free() {
    let mut world = World::new();
    let ((a, ta), (b, tb)) = (ids(), ids());
    world.close(5_000);
    assert!(matches!(
        world.lock(a, ta),
        Reply::Queued { position: 1, .. }
    ));
    let tried = world.acquire(b, tb, 1, 1, Mode::Try);
    assert!(matches!(tried, Reply::Busy { .. }), "{tried:?}");
    assert_eq!(world.info(a).holders.len(), 0);
    world.pass(5_000);
    assert!(is_granted(&world.touch(a, ta)));
}

#[test]
fn what_nobody_claimed_before_is_claimed_too_late() {
    let mut world = World::new();
    let ((a, ta), (b, tb), (c, tc)) = (ids(), ids(), ids());
    world.lock(a, ta);
    world.lock(b, tb);
    world.lock(c, tc);
    world.release(a, ta, 0, false);
    assert_eq!(world.granted_to(), [b]);
    world.close(5_000);
    world.pass(1);
    // The claim is not accepted. The old server never sees it, and may pass the ticket over and grant the lock to
    // another one. The ticket stays first in the queue.
    let late = world.touch(b, tb);
    assert!(
        matches!(
            late,
            Reply::Queued {
                position: 1,
                holder: None,
                ..
            }
        ),
        "{late:?}"
    );
    world.pass(5_000);
    assert!(is_granted(&world.touch(b, tb)));
    assert!(!is_granted(&world.touch(c, tc)));
}

/// Members do not agree to the millisecond on when the store opens. If one knows that the store is open and was granted
/// the lock, others must not take the lock away.
#[test]
fn who_takes_it_for_closed_takes_nothing_from_who_knows_better() {
    let (mut world, _, (b, tb)) = World::unclaimed();
    let (c, tc) = ids();
    world.close(1_000);
    world.lock(c, tc);
    world.opens = 0;
    assert!(!is_granted(&world.touch(c, tc)), "it is another one's");
    assert!(is_granted(&world.touch(b, tb)));
}

/// While the store is closed, a provisional grant cannot be claimed, but its member may rely on it until the reply to
/// the claim arrives. The grant therefore blocks other tickets until its lease ends.
#[test]
fn what_may_not_be_claimed_is_nobody_elses_until_it_ends() {
    let (mut world, _, (b, tb)) = World::unclaimed();
    let (c, tc) = ids();
    world.close(10_000);
    world.pass(500);
    assert!(!is_granted(&world.touch(b, tb)));
    let tried = world.acquire(b, tb, 1, 1, Mode::Try);
    assert!(matches!(tried, Reply::Busy { holder: None }), "{tried:?}");
    world.opens = 0;
    world.pass(1_499);
    assert!(!is_granted(&world.lock(c, tc)), "a millisecond is left");
    world.pass(1);
    assert!(is_granted(&world.touch(c, tc)));
}

#[test]
fn who_may_not_claim_asks_again_when_it_opens() {
    for (opens, asks) in [(500, 501), (5_000, 1_100)] {
        let (mut world, _, (b, tb)) = World::unclaimed();
        world.close(opens);
        let Reply::Queued { again, .. } = world.touch(b, tb) else {
            panic!("it was granted");
        };
        assert_eq!(again, Duration::from_millis(asks));
    }
}

#[test]
fn what_might_not_be_claimed_is_claimed_when_it_opens() {
    let (mut world, (a, _), (b, tb)) = World::unclaimed();
    let held = world.info(a).holders[0].token;
    world.close(1_000);
    assert!(!is_granted(&world.touch(b, tb)));
    world.pass(1_000);
    assert!(is_granted(&world.touch(b, tb)));
    assert_eq!(world.info(a).holders[0].token, held);
    world.pass(5_000);
    assert_eq!(world.info(a).holders.len(), 1, "for a whole lease");
}

#[test]
fn a_clock_that_is_stepped_back_makes_no_provisional_lease_longer() {
    let (mut world, (a, ta), _) = World::unclaimed();
    world.now -= 60_000_000;
    world.touch(a, ta);
    assert_eq!(world.info(a).holders.len(), 1);
    world.pass(2_000);
    world.touch(a, ta);
    assert_eq!(world.info(a).holders.len(), 0);
}
