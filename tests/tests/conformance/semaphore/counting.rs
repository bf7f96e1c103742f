//! There are as many holders as permits, no more and no fewer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;

pub(crate) async fn as_many_hold_as_there_are_permits(store: &dyn TestStore) {
    let members = store.members::<3>();
    let mut permits = Vec::new();
    for member in &members {
        let permit = soon("a permit", member.semaphore("s", 3).acquire()).await;
        permits.push(permit.unwrap());
    }
    for member in &members {
        let semaphore = member.semaphore("s", 3);
        assert!(semaphore.try_acquire().await.unwrap().is_none());
        assert_eq!(semaphore.available().await.unwrap(), 0);
    }
    drop(permits.pop());
    let next = members[0].semaphore("s", 3);
    let permit = soon("the next one", next.acquire()).await.unwrap();
    assert_eq!(permit.units(), 1);
    assert_eq!(permit.token(), None);
    assert_eq!(permit.name(), "s");
}

pub(crate) async fn many_are_taken_at_once_or_not_at_all(store: &dyn TestStore) {
    let [a, b] = store.members();
    let (a, b) = (a.semaphore("s", 5), b.semaphore("s", 5));
    let three = a.acquire_many(3).await.unwrap();
    assert_eq!(three.units(), 3);
    assert!(b.try_acquire_many(3).await.unwrap().is_none());
    assert_eq!(b.available().await.unwrap(), 2, "a try takes nothing");
    let two = b.try_acquire_many(2).await.unwrap().expect("two are left");
    assert_eq!(three.release().await.unwrap(), 3);
    assert_eq!(two.release().await.unwrap(), 5);
}

pub(crate) async fn requests_that_cannot_work_are_refused(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 2);
    for (semaphore, units) in [
        (semaphore.clone(), 0),
        (semaphore.clone(), 3),
        (client.semaphore("s", 1 << 30), 1),
        (client.semaphore("s", u32::MAX), 1),
        (client.semaphore("s", 0), 2),
    ] {
        let error = soon("an answer", semaphore.acquire_many(units)).await;
        is!(
            error,
            Err(LockError::InvalidOption {
                option: "permits",
                ..
            })
        );
        assert!(semaphore.blocking_try_acquire_many(units).is_err());
    }
    let whole = soon("all of it", semaphore.acquire_many(2)).await;
    assert_eq!(whole.unwrap().release().await.unwrap(), 2);
}

pub(crate) async fn members_and_tasks_never_exceed_the_permits(store: &dyn TestStore) {
    const PERMITS: u32 = 3;
    let (inside, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut tasks = Vec::new();
    for number in 0..12 {
        let client = store.member();
        let (inside, most) = (inside.clone(), most.clone());
        tasks.push(tokio::spawn(async move {
            for round in 0..10 {
                let units = 1 + (number + round) % PERMITS;
                let permit = client.semaphore("s", PERMITS).acquire_many(units).await;
                let permit = permit.unwrap();
                let now = inside.fetch_add(units, Ordering::SeqCst) + units;
                assert!(now <= PERMITS, "{now} at once");
                most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(1)).await;
                inside.fetch_sub(units, Ordering::SeqCst);
                drop(permit);
            }
        }));
    }
    ended("everybody gets in", tasks).await;
    assert_eq!(most.load(Ordering::SeqCst), PERMITS, "all are used");
    let observer = store.member().semaphore("s", PERMITS);
    let all = observer.acquire_many(PERMITS);
    drop(soon("all are free", all).await.unwrap());
}

pub(crate) async fn a_nested_call_takes_another_permit(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 2);
    let body = semaphore.synchronize(async |outer: &Permit| {
        let inner = soon("another permit", semaphore.acquire()).await.unwrap();
        assert!(inner.fencing_token() > outer.fencing_token());
        assert_eq!(semaphore.available().await.unwrap(), 0);
        assert!(semaphore.try_acquire().await.unwrap().is_none());
    });
    soon("the body", body).await.unwrap();
    let again = soon("both are back", semaphore.acquire_many(2)).await;
    again.unwrap().release().await.unwrap();
}

pub(crate) async fn a_reentrant_one_shares_what_the_task_has(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 4).reentrant();
    let body = semaphore.synchronize(async |outer: &Permit| {
        let inner = soon("at once", semaphore.acquire()).await.unwrap();
        assert_eq!(inner.fencing_token(), outer.fencing_token());
        assert_eq!(semaphore.available().await.unwrap(), 3);
        // The task's one permit does not cover two, so two more are taken.
        let two = soon("two more", semaphore.acquire_many(2)).await.unwrap();
        assert!(two.fencing_token() > outer.fencing_token());
        assert_eq!(two.release().await.unwrap(), 3);
        assert_eq!(inner.release().await.unwrap(), 3, "the outer one has it");
        outer.check().unwrap();
    });
    soon("the body", body).await.unwrap();
    let all = soon("all are free", semaphore.acquire_many(4)).await;
    drop(all.unwrap());
}

pub(crate) async fn threads_share_a_semaphore(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 2).reentrant();
    let thread = store.thread(move || {
        let inside = semaphore.blocking_synchronize(|permit: &Permit| {
            let inner = semaphore.blocking_acquire().unwrap();
            assert_eq!(inner.fencing_token(), permit.fencing_token());
            semaphore.blocking_available().unwrap()
        });
        assert_eq!(inside.unwrap(), 1);
        let both = semaphore.blocking_acquire_many(2).unwrap();
        let third = client.semaphore("s", 2).blocking_try_acquire();
        assert!(third.unwrap().is_none());
        assert_eq!(both.blocking_release().unwrap(), 2);
    });
    thread.await.unwrap();
}

pub(crate) async fn a_thread_may_wait_where_its_task_does_not_have_it_all(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 2);
    let _one = semaphore.acquire().await.unwrap();
    // The thread that holds a permit may wait, because one permit is left.
    let two = semaphore.blocking_acquire().unwrap();
    let error = semaphore.blocking_acquire().unwrap_err();
    is!(error, LockError::Deadlock { .. });
    drop(two);
}
