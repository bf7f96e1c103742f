//! The short ways give way to the long ones where anything is unusual. On the memory store itself, on a clock by hand.

use super::{Pin, Rig, SECOND, poll};
use crate::clock::{Instant, by_hand};
use crate::config::Config;
use crate::error::LockError;
use crate::lease::{Hold, Terms};
use crate::member::Member;
use crate::name::Name;
use crate::queue::{Acquire, Want};
use crate::store::memory::{Driver, MemoryStore};
use crate::store::{Events, MemberId, NameRecord, Op, Owner, Reply, Share};
use std::sync::Arc;
use std::time::Duration;

struct Free {
    member: Arc<Member>,
    name: Name,
    now: Instant,
    _driver: Driver,
}

impl Free {
    fn new() -> Self {
        let now = Instant::from_nanos(1_000_000_000_000);
        by_hand::set(now);
        let settings = Config::new("memory://").unwrap().lease(10).patience(30);
        let (store, driver) = MemoryStore::open(None, MemberId::random());
        let member = Member::new(settings.validate().unwrap(), store);
        member.connected(1);
        let free = Self {
            member,
            name: Name::from_escaped("queue:free"),
            now,
            _driver: driver,
        };
        // The store knows the name from now on.
        free.release(&free.take(&Rig::want()));
        free
    }

    fn enter(&self, want: &Want) -> Result<Pin<Box<Acquire>>, LockError> {
        let entered = self
            .member
            .with_local(&self.name, |local| local.enter(want));
        entered.unwrap().map(Box::pin)
    }

    fn take(&self, want: &Want) -> Arc<Hold> {
        let mut acquire = self.enter(want).unwrap();
        poll(&mut acquire).expect("free").unwrap()
    }

    fn release(&self, hold: &Arc<Hold>) {
        assert!(hold.unshare());
        hold.local().release(hold);
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        by_hand::set(self.now);
    }

    fn inspect(&self) -> NameRecord {
        let asked = self
            .member
            .with_local(&self.name, |local| local.query(&Op::Inspect));
        match asked.unwrap().blocking_wait() {
            Ok(Reply::Info(record)) => record,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_free_is_taken_and_left_with_growing_tokens() {
    let free = Free::new();
    let mut last = 0;
    for _ in 0..5 {
        let hold = free.take(&Rig::want());
        assert_eq!(free.inspect().holders.len(), 1);
        assert!(hold.is_valid() && hold.grant().token > last);
        last = hold.grant().token;
        free.release(&hold);
        assert!(hold.is_released());
        assert!(free.inspect().holders.is_empty());
    }
}

#[test]
fn who_waits_gets_what_is_left() {
    let free = Free::new();
    let hold = free.take(&Rig::want());
    let mut waiter = free.enter(&Rig::want()).unwrap();
    assert!(poll(&mut waiter).is_none());
    free.release(&hold);
    let next = poll(&mut waiter).expect("handed on").unwrap();
    free.release(&next);
    assert!(free.inspect().waiters.is_empty());
}

#[test]
fn at_least_keeps_it_in_the_store() {
    let mut free = Free::new();
    let mut want = Rig::want();
    want.terms.at_least = SECOND;
    let hold = free.take(&want);
    free.release(&hold);
    assert!(free.inspect().holders[0].parked);
    free.pass(SECOND);
    assert!(free.inspect().holders.is_empty());
}

#[test]
fn what_was_lost_is_not_released_as_if_it_were_held() {
    let mut free = Free::new();
    let hold = free.take(&Rig::want());
    // The engine stood still meanwhile.
    free.pass(60 * SECOND);
    free.release(&hold);
    assert!(hold.is_lost() && !hold.is_released());
    assert!(free.inspect().holders.is_empty());
    free.release(&free.take(&Rig::want()));
}

#[test]
fn a_short_expire_is_looked_at_in_time() {
    let mut free = Free::new();
    let mut want = Rig::want();
    want.terms = Terms {
        expire: Some(SECOND / 10),
        at_least: Duration::ZERO,
    };
    let hold = free.take(&want);
    let next = free.member.timers().next().unwrap();
    assert!(next <= free.now.after(SECOND / 10), "{next:?}");
    free.pass(SECOND / 10);
    free.member.tick();
    assert!(hold.is_lost());
    assert!(free.inspect().holders.is_empty());
}

#[test]
fn a_lease_is_renewed_as_any_other() {
    let mut free = Free::new();
    let hold = free.take(&Rig::want());
    for _ in 0..10 {
        free.pass(3 * SECOND);
        free.member.tick();
    }
    assert!(hold.is_valid());
    free.release(&hold);
    assert!(hold.is_released());
}

#[test]
fn owners_share_what_they_have() {
    let free = Free::new();
    let mut want = Rig::want();
    want.owner = Some(Owner::Here("o".into()));
    let hold = free.take(&want);
    let same = free.take(&want);
    assert!(Arc::ptr_eq(&hold, &same) && !hold.unshare());
    let mut other = free.enter(&Rig::want()).unwrap();
    assert!(poll(&mut other).is_none());
    free.release(&same);
    assert!(poll(&mut other).expect("handed on").is_ok());
}

#[test]
fn who_does_not_wait_and_who_could_share_get_the_same() {
    let free = Free::new();
    let mut want = Rig::want();
    want.share = Share::of(1, 2);
    let (one, two) = (free.take(&want), free.take(&want));
    want.patience = super::Patience::Queue(Some(Duration::ZERO));
    let mut third = free.enter(&want).unwrap();
    let refused = poll(&mut third).expect("answered");
    assert!(matches!(refused, Err(LockError::Timeout { .. })));
    assert_eq!(free.inspect().used, 2);
    free.release(&one);
    assert_eq!(free.inspect().used, 1);
    free.release(&two);
    assert_eq!(free.inspect().used, 0);
}

#[test]
fn a_client_that_is_shut_down_grants_nothing() {
    let free = Free::new();
    let hold = free.take(&Rig::want());
    let entered = free.member.with_local(&free.name, |local| {
        // Another thread, between the look at the phase and the step.
        free.member.shut_down(Duration::ZERO);
        Some(local.enter(&Rig::want()))
    });
    assert!(matches!(entered, Ok(Some(Err(LockError::ShutDown)))));
    assert!(hold.is_lost());
}

#[test]
fn a_name_that_was_retired_is_looked_up_again() {
    let mut free = Free::new();
    let before = free.take(&Rig::want());
    let local = before.local().clone();
    free.release(&before);
    free.pass(10 * SECOND);
    free.member.tick();
    assert!(local.enter(&Rig::want()).is_none(), "retired");
    let after = free.take(&Rig::want());
    assert!(!Arc::ptr_eq(after.local(), &local));
    free.release(&after);
}
