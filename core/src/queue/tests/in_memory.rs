//! The local queue on the real memory store, with a manual clock.

use std::sync::Arc;
use std::time::Duration;

use super::{Pin, Rig, SECOND, poll, somebody};
use crate::base::clock::{Instant, by_hand};
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::config::Config;
use crate::queue::{Acquire, ClientCore, Hold, LockQueue, Patience, Want};
use crate::store::{Events, MemberId, Node, NodeChange, RandomId, Share};
use auto_mutex_memory::{Heard, MemoryStore};

pub(super) struct Free {
    pub(super) member: Arc<ClientCore>,
    pub(super) name: Name,
    pub(super) now: Instant,
    _driver: Heard,
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
        let member = ClientCore::new(settings.validate().unwrap(), store, MemberId::random());
        member.node_changed(Node::ONLY, NodeChange::Connected { again: false });
        Self {
            member,
            name: Name::from_escaped("queue:free"),
            now,
            _driver: driver,
        }
    }

    pub(super) fn enter(&self, want: &Want) -> Result<Pin<Box<Acquire>>, LockError> {
        let entered = self.member.enter(&self.name, want, &somebody());
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
}

#[test]
fn a_name_that_was_retired_is_looked_up_again() {
    let mut free = Free::new();
    let before = free.take(&Rig::want());
    let local = before.queue.clone();
    free.release(&before);
    free.pass(10 * SECOND);
    free.member.tick();
    assert!(local.enter(&Rig::want(), &somebody()).is_none(), "retired");
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
    let adopt = |local: &Arc<LockQueue>| local.adopt(old, &Rig::want(), &somebody());
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

#[test]
fn a_wait_for_a_signal_that_times_out_takes_no_other_queue_with_it() {
    let mut free = Free::new();
    let of_name = |free: &Free| {
        let found = free
            .member
            .with_queue(&free.name, |local| Some(local.clone()));
        found.unwrap()
    };
    let common = of_name(&free);
    let mut waits = free
        .enter(&Want {
            patience: Patience::Queue(Some(SECOND)),
            ..Rig::share(Share::NOTIFICATION)
        })
        .unwrap();
    free.pass(2 * SECOND);
    free.member.tick();
    assert!(poll(&mut waits).expect("timed out").is_err());
    assert!(Arc::ptr_eq(&common, &of_name(&free)));
}
