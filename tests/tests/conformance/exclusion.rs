//! One holder at a time.

use std::sync::Arc;

use crate::prelude::*;

pub(crate) async fn a_lock_is_held_by_one_at_a_time(store: &dyn TestStore) {
    let [a, b] = store.members();
    let guard = a.mutex("m").lock().await.unwrap();
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
    let _other_name = soon("another", b.mutex("n").lock()).await.unwrap();
    assert!(guard.unlock().await.unwrap());
    let _guard = soon("the lock is free", b.mutex("m").lock()).await.unwrap();
    assert!(a.mutex("m").try_lock().await.unwrap().is_none());
}

pub(crate) async fn try_lock_finds_a_held_lock_busy_and_a_free_one_free(store: &dyn TestStore) {
    let [a, b] = store.members();
    let guard = a.mutex("m").try_lock().await.unwrap().expect("free");
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
    let info = b.mutex("m").info().await.unwrap();
    assert!(info.waiters.is_empty(), "a try leaves nothing behind");
    guard.unlock().await.unwrap();
    assert!(b.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn a_guard_knows_what_it_is(store: &dyn TestStore) {
    let mutex = store.member().mutex("some:name").expire(LONG * 4);
    let guard = mutex.lock().await.unwrap();
    assert_eq!(guard.name(), "some:name");
    assert!(guard.fencing_token() > 0);
    let left = guard.expires_in();
    assert!(left <= LONG * 4 && left > LONG, "{left:?}");
    assert!(!guard.is_lost());
    guard.check().unwrap();
    let debug = format!("{guard:?}");
    assert!(debug.contains("some:name"), "{debug}");
}

pub(crate) async fn many_members_and_tasks_never_meet_inside(store: &dyn TestStore) {
    let inside = Arc::new(tokio::sync::Mutex::new(0));
    let mut tasks = Vec::new();
    for client in store.members::<4>() {
        for number in 0..4 {
            // Some of a client's handles keep the lock between calls, and others don't.
            let mutex = client.mutex("m").retain(["0s", "600s"][number % 2]);
            tasks.push(with(&inside, |inside| async move {
                for _ in 0..10 {
                    let guard = mutex.lock().await.unwrap();
                    let mut last = inside.try_lock().expect("nobody else");
                    assert!(guard.fencing_token() > *last);
                    *last = guard.fencing_token();
                    tokio::task::yield_now().await;
                    drop((last, guard));
                }
            }));
        }
    }
    ended("everybody gets in", tasks).await;
}
