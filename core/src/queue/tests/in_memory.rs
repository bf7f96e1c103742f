//! The local queue on the real memory store, with a manual clock.

use std::sync::Arc;
use std::time::Duration;

use super::{Pin, Rig, SECOND, poll};
use crate::base::clock::{Instant, by_hand};
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::config::Config;
use crate::lease::Terms;
use crate::queue::{Acquire, ClientCore, Hold, LockQueue, Want};
use crate::store::memory::{Driver, MemoryStore};
use crate::store::{Events, MemberId, NameRecord, Node, NodeChange, Op, Owner, Reply, Share};

pub(super) struct Free {
    pub(super) member: Arc<ClientCore>,
    pub(super) name: Name,
    pub(super) now: Instant,
    _driver: Driver,
}

impl Free {
    pub(super) fn new() -> Self {
        let now = Instant::from_nanos(1_000_000_000_000);
        by_hand::set(now);
        let settings = Config::new("memory://")
            .unwrap()
            .lease("10s")
            .store_timeout("30s");
        let (store, driver) = MemoryStore::open(None, MemberId::random());
        let member = ClientCore::new(settings.validate().unwrap(), store);
        member.node_changed(Node::ONLY, NodeChange::Connected { again: false });
        Self {
            member,
            name: Name::from_escaped("queue:free"),
            now,
            _driver: driver,
        }
    }

    pub(super) fn enter(&self, want: &Want) -> Result<Pin<Box<Acquire>>, LockError> {
        let entered = self
            .member
            .with_queue(&self.name, |local| local.enter(want));
        entered.unwrap().map(Box::pin)
    }

    pub(super) fn take(&self, want: &Want) -> Arc<Hold> {
        let mut acquire = self.enter(want).unwrap();
        poll(&mut acquire).expect("free").unwrap()
    }

    pub(super) fn release(&self, hold: &Arc<Hold>) {
        assert!(hold.remove_guard());
        hold.release(false);
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        by_hand::set(self.now);
    }

    pub(super) fn inspect(&self) -> NameRecord {
        let asked = self
            .member
            .with_queue(&self.name, |local| local.query(&Op::Inspect { above: 0 }));
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
        assert!(hold.is_valid() && hold.grant.token > last);
        last = hold.grant.token;
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
    // The background thread was suspended meanwhile.
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
        ..Terms::default()
    };
    let hold = free.take(&want);
    let next = free.member.timers.next().unwrap();
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
    assert!(Arc::ptr_eq(&hold, &same) && !hold.remove_guard());
    let mut other = free.enter(&Rig::want()).unwrap();
    assert!(poll(&mut other).is_none());
    free.release(&same);
    assert!(poll(&mut other).expect("handed on").is_ok());
}

#[test]
fn an_owner_of_the_cluster_hands_nothing_on() {
    let free = Free::new();
    let mut want = Rig::want();
    want.owner = Some(Owner::Anywhere("o".into()));
    want.share.owner = "o".into();
    let hold = free.take(&want);
    let mut other = free.enter(&Rig::want()).unwrap();
    free.release(&hold);
    assert!(poll(&mut other).is_none(), "the store decides who is next");
    assert_eq!(free.inspect().holders.len(), 1);
}

#[test]
fn a_guard_that_outlived_its_hold_releases_nothing_of_another() {
    let free = Free::new();
    let hold = free.take(&Rig::want());
    // A handle unlocks its lock in this way.
    hold.unlock();
    let next = free.take(&Rig::want());
    free.release(&hold);
    assert!(next.is_valid());
    assert_eq!(free.inspect().holders.len(), 1);
}

#[test]
fn who_does_not_wait_and_who_could_share_get_the_same() {
    let free = Free::new();
    let mut want = Rig::want();
    want.share = Share::of(1, 2);
    let (one, two) = (free.take(&want), free.take(&want));
    want.patience = super::Patience::NONE;
    let mut third = free.enter(&want).unwrap();
    let refused = poll(&mut third).expect("answered");
    assert!(matches!(refused, Err(LockError::Timeout { .. })));
    assert_eq!(free.inspect().used, 2);
    free.release(&one);
    assert_eq!(free.inspect().used, 1);
    free.release(&two);
    assert_eq!(free.inspect().used, 0);
    let tried = free.take(&want);
    assert_eq!(free.inspect().used, 1);
    free.release(&tried);
}

#[test]
fn a_client_that_is_shut_down_grants_nothing() {
    let free = Free::new();
    let hold = free.take(&Rig::want());
    let entered = free.member.with_queue(&free.name, |local| {
        // Another thread shuts the client down between the phase check and the transition.
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
    let local = before.queue.clone();
    free.release(&before);
    free.pass(10 * SECOND);
    free.member.tick();
    assert!(local.enter(&Rig::want()).is_none(), "retired");
    let after = free.take(&Rig::want());
    assert!(!Arc::ptr_eq(&after.queue, &local));
    free.release(&after);
}

#[test]
fn who_takes_over_gets_a_greater_token() {
    let free = Free::new();
    let hold = free.take(&Rig::want());
    assert!(hold.export());
    let old = hold.grant.ticket;
    let adopt = |local: &Arc<LockQueue>| local.adopt(old, Rig::want());
    let mut adopted = Box::pin(free.member.with_queue(&free.name, adopt).unwrap());
    let taken = poll(&mut adopted).expect("answered").unwrap();
    assert!(taken.grant.token > hold.grant.token);
    free.release(&taken);
}

#[test]
fn fencing_tokens_grow_when_a_name_is_retired_and_used_again() {
    let mut free = Free::new();
    free.release(&free.take(&Rig::want()));
    let beat = free.member.timers.next().unwrap();
    free.pass(free.now.until(beat) - SECOND / 1_000_000);
    // All grants come at the same moment, which makes the tokens run ahead of the clock.
    let holds = [(); 100].map(|()| {
        let hold = free.take(&Rig::want());
        free.release(&hold);
        hold
    });
    let last = holds[99].grant.token;
    free.pass(SECOND / 1_000_000);
    free.member.tick();
    let next = free.take(&Rig::want());
    assert!(!Arc::ptr_eq(&next.queue, &holds[99].queue), "retired");
    assert!(next.grant.token > last);
    free.release(&next);
}
