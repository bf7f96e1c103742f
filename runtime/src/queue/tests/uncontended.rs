//! The fast path has the result of the general path, and is not used in unusual cases. Most tests run on the real
//! memory store, with a manual clock.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{Pin, Rig, SECOND, poll};
use crate::clock::{Instant, by_hand};
use crate::config::Config;
use crate::error::LockError;
use crate::lease::Terms;
use crate::name::Name;
use crate::queue::{Acquire, Want};
use crate::queue::{Hold, Member};
use crate::store::memory::{Driver, MemoryStore};
use crate::store::{
    Answer, Clock, Events, Loan, MemberId, NameRecord, Node, Op, Owner, Reply, Request, Share,
    Store,
};

pub(super) struct Free {
    pub(super) member: Arc<Member>,
    pub(super) name: Name,
    pub(super) now: Instant,
    pub(super) store: Arc<MemoryStore>,
    _driver: Driver,
}

impl Free {
    /// Runs `test` twice: on a store that lends the name, and on a store that other clients could open too.
    pub(super) fn each(test: impl Fn(Self)) {
        let shared = MemberId::random().to_string();
        for store in [None, Some(&*shared)] {
            test(Self::on(store));
        }
    }

    pub(super) fn on(store: Option<&str>) -> Self {
        let now = Instant::from_nanos(1_000_000_000_000);
        by_hand::set(now);
        let settings = Config::new("memory://")
            .unwrap()
            .lease("10s")
            .store_timeout("30s");
        let (store, driver) = MemoryStore::open(store, MemberId::random());
        let member = Member::new(settings.validate().unwrap(), store.clone());
        member.connected(Node::ONLY, false);
        let free = Self {
            member,
            name: Name::from_escaped("queue:free"),
            now,
            store,
            _driver: driver,
        };
        // The store lends only names that it knows. This acquire and release make the name known.
        free.release(&free.take(&Rig::want()));
        free
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
        assert!(hold.unshare());
        hold.local().release(hold);
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        by_hand::set(self.now);
    }

    pub(super) fn inspect(&self) -> NameRecord {
        let asked = self
            .member
            .with_queue(&self.name, |local| local.query(&Op::Inspect));
        match asked.unwrap().blocking_wait() {
            Ok(Reply::Info(record)) => record,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_free_is_taken_and_left_with_growing_tokens() {
    Free::each(|free| {
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
    });
}

#[test]
fn who_waits_gets_what_is_left() {
    Free::each(|free| {
        let hold = free.take(&Rig::want());
        let mut waiter = free.enter(&Rig::want()).unwrap();
        assert!(poll(&mut waiter).is_none());
        free.release(&hold);
        let next = poll(&mut waiter).expect("handed on").unwrap();
        free.release(&next);
        assert!(free.inspect().waiters.is_empty());
    });
}

#[test]
fn at_least_keeps_it_in_the_store() {
    Free::each(|mut free| {
        let mut want = Rig::want();
        want.terms.at_least = SECOND;
        let hold = free.take(&want);
        free.release(&hold);
        assert!(free.inspect().holders[0].parked);
        free.pass(SECOND);
        assert!(free.inspect().holders.is_empty());
    });
}

#[test]
fn what_was_lost_is_not_released_as_if_it_were_held() {
    Free::each(|mut free| {
        let hold = free.take(&Rig::want());
        // The engine was suspended meanwhile.
        free.pass(60 * SECOND);
        free.release(&hold);
        assert!(hold.is_lost() && !hold.is_released());
        assert!(free.inspect().holders.is_empty());
        free.release(&free.take(&Rig::want()));
    });
}

#[test]
fn a_short_expire_is_looked_at_in_time() {
    Free::each(|mut free| {
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
    });
}

#[test]
fn a_lease_is_renewed_as_any_other() {
    Free::each(|mut free| {
        let hold = free.take(&Rig::want());
        for _ in 0..10 {
            free.pass(3 * SECOND);
            free.member.tick();
        }
        assert!(hold.is_valid());
        free.release(&hold);
        assert!(hold.is_released());
    });
}

#[test]
fn owners_share_what_they_have() {
    Free::each(|free| {
        let mut want = Rig::want();
        want.owner = Some(Owner::Here("o".into()));
        let hold = free.take(&want);
        let same = free.take(&want);
        assert!(Arc::ptr_eq(&hold, &same) && !hold.unshare());
        let mut other = free.enter(&Rig::want()).unwrap();
        assert!(poll(&mut other).is_none());
        free.release(&same);
        assert!(poll(&mut other).expect("handed on").is_ok());
    });
}

#[test]
fn an_owner_of_the_cluster_hands_nothing_on() {
    Free::each(|free| {
        let mut want = Rig::want();
        want.owner = Some(Owner::Anywhere("o".into()));
        want.share.owner = "o".into();
        let hold = free.take(&want);
        let mut other = free.enter(&Rig::want()).unwrap();
        free.release(&hold);
        assert!(poll(&mut other).is_none(), "the store decides who is next");
        assert_eq!(free.inspect().holders.len(), 1);
    });
}

#[test]
fn a_guard_that_outlived_its_hold_releases_nothing_of_another() {
    Free::each(|free| {
        let hold = free.take(&Rig::want());
        // A handle unlocks its lock in this way.
        hold.local().unlock(&hold);
        let next = free.take(&Rig::want());
        free.release(&hold);
        assert!(next.is_valid());
        assert_eq!(free.inspect().holders.len(), 1);
    });
}

#[test]
fn who_does_not_wait_and_who_could_share_get_the_same() {
    Free::each(|free| {
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
    });
}

#[test]
fn a_client_that_is_shut_down_grants_nothing() {
    Free::each(|free| {
        let hold = free.take(&Rig::want());
        let entered = free.member.with_queue(&free.name, |local| {
            // Another thread shuts the client down between the check of the phase and the transition.
            free.member.shut_down(Duration::ZERO);
            Some(local.enter(&Rig::want()))
        });
        assert!(matches!(entered, Ok(Some(Err(LockError::ShutDown)))));
        assert!(hold.is_lost());
    });
}

/// A store that lends every name, and counts the loans and the returns.
#[derive(Default)]
struct Lender(AtomicU32, AtomicU32);

impl Store for Lender {
    fn close(&self) {}

    fn submit(&self, _: Request) -> Option<Answer> {
        None
    }

    fn lend(&self, _: &Name) -> Option<Loan> {
        self.0.fetch_add(1, Relaxed);
        Some(Loan::new(Clock::new(0, Instant::START), 0, 0))
    }

    fn take_back(&self, _: &Name, _: &Loan, held: Option<&Op>) {
        assert!(held.is_some(), "it is held");
        self.1.fetch_add(1, Relaxed);
    }
}

#[test]
fn nobody_takes_the_fast_path_past_others() {
    let settings = Config::new("memory://")
        .unwrap()
        .lease("10s")
        .store_timeout("30s");
    let store = Arc::new(Lender::default());
    let member = Member::new(settings.validate().unwrap(), store.clone());
    let counts = || (store.0.load(Relaxed), store.1.load(Relaxed));
    let name = Name::from_escaped("queue:others");
    let enter = |want: &Want| {
        let entered = member.with_queue(&name, |local| local.enter(want));
        Box::pin(entered.unwrap().unwrap())
    };
    let hold = poll(&mut enter(&Rig::want())).expect("granted").unwrap();
    assert_eq!(counts(), (1, 0), "lent");
    let mut waiter = enter(&Rig::want());
    assert!(poll(&mut waiter).is_none());
    assert_eq!(
        counts(),
        (1, 1),
        "held: the next one waits, in the store too"
    );
    assert!(hold.unshare());
    hold.local().release(&hold);
    assert_eq!(counts(), (1, 1), "handed on, not released");
    let next = poll(&mut waiter).expect("handed on").unwrap();
    assert!(next.unshare());
    next.local().release(&next);
    assert_eq!(counts(), (1, 1), "a ticket still waits for those to come");
    drop(enter(&Rig::want()));
    assert_eq!(counts(), (1, 1), "what is on its way out is still there");
}

#[test]
fn a_name_that_was_retired_is_looked_up_again() {
    Free::each(|mut free| {
        let before = free.take(&Rig::want());
        let local = before.local().clone();
        free.release(&before);
        free.pass(10 * SECOND);
        free.member.tick();
        assert!(local.enter(&Rig::want()).is_none(), "retired");
        let after = free.take(&Rig::want());
        assert!(!Arc::ptr_eq(after.local(), &local));
        free.release(&after);
    });
}
