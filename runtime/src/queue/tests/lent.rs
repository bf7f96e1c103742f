//! Names that the store lends to the client, and queues that a thread remembers. Before each request for a lent name,
//! the store learns the name's state. A thread uses no queue that was retired.

use std::sync::Arc;

use super::uncontended::Free;
use super::{Rig, SECOND, poll};
use crate::member::NameQueue;
use crate::name::Name;
use crate::queue::LockQueue;

#[test]
fn a_store_of_ones_own_hears_of_a_grant_with_the_next_step() {
    let free = Free::on(None);
    let known = || format!("{:?}", free.store);
    let before = known();
    let hold = free.take(&Rig::want());
    assert_eq!(known(), before, "it was not asked");
    let held = free.inspect();
    assert_eq!(held.token, hold.grant().token / 1024);
    let [holder] = &*held.holders else {
        panic!("{held:?}");
    };
    assert_eq!(holder.ticket, hold.grant().ticket);
    assert_eq!((holder.units, holder.token), (1, held.token));
    assert_eq!(
        (&holder.meta, holder.left),
        (&hold.grant().meta, 10 * SECOND)
    );
    free.release(&hold);
    assert!(free.inspect().holders.is_empty());
}

#[test]
fn who_takes_over_finds_what_was_lent() {
    let free = Free::on(None);
    let hold = free.take(&Rig::want());
    assert!(hold.local().export(&hold));
    let old = hold.grant().ticket;
    let adopt = |local: &Arc<LockQueue>| local.adopt(old, Rig::want());
    let mut adopted = Box::pin(free.member.with_queue(&free.name, adopt).unwrap());
    let taken = poll(&mut adopted).expect("answered").unwrap();
    assert!(taken.grant().token > hold.grant().token);
    free.release(&taken);
}

#[test]
fn fencing_tokens_grow_when_a_name_is_retired_and_used_again() {
    Free::each(|mut free| {
        let beat = free.member.timers().next().unwrap();
        free.pass(free.now.until(beat) - SECOND / 1_000_000);
        // All grants come at the same moment, so the tokens run ahead of the clock.
        let holds = [(); 100].map(|()| {
            let hold = free.take(&Rig::want());
            free.release(&hold);
            hold
        });
        let last = holds[99].grant().token;
        free.pass(SECOND / 1_000_000);
        free.member.tick();
        let next = free.take(&Rig::want());
        assert!(!Arc::ptr_eq(next.local(), holds[99].local()), "retired");
        assert!(next.grant().token > last);
        free.release(&next);
    });
}

#[test]
fn a_name_that_is_retired_is_given_back() {
    let free = Free::on(None);
    let hold = free.take(&Rig::want());
    free.release(&hold);
    assert!(hold.local().retire());
    let token = format!("token: {},", hold.grant().token / 1024);
    assert!(format!("{:?}", free.store).contains(&token));
}

#[test]
fn a_thread_finds_its_names_only_while_they_are_in_use() {
    let mut free = Free::on(None);
    let find = |free: &Free| LockQueue::recent(&free.member, &free.name);
    let hold = free.take(&Rig::want());
    let local = find(&free).expect("looked up of late");
    assert!(Arc::ptr_eq(&local, hold.local()));
    let elsewhere = std::thread::scope(|scope| {
        let look = || find(&free).is_some();
        scope.spawn(look).join().unwrap()
    });
    assert!(!elsewhere, "another thread has not looked");
    let other = Name::from_escaped("queue:other");
    assert!(LockQueue::recent(&free.member, &other).is_none());
    assert!(local.take_uncontended(&Rig::want()).is_none(), "it is held");
    free.release(&hold);
    let again = local.take_uncontended(&Rig::want()).expect("free");
    free.release(&again);
    free.pass(10 * SECOND);
    free.member.tick();
    assert!(local.take_uncontended(&Rig::want()).is_none(), "retired");
    // The member's timers also have a reference to the queue, until the client is abandoned.
    free.member.abandon();
    let kept = Arc::downgrade(&local);
    drop((local, hold, again));
    assert!(kept.upgrade().is_none() && find(&free).is_none());
}
