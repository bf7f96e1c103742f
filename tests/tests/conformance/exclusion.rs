//! One holder at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn a_lock_is_held_by_one_at_a_time(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let guard = a.mutex("m").lock().await.unwrap();
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    let guard = soon("the lock is free", b.mutex("m").lock()).await.unwrap();
    assert!(a.mutex("m").try_lock().await.unwrap().is_none());
    drop(guard);
}

pub(crate) async fn different_names_do_not_meet(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let _one = a.mutex("one").lock().await.unwrap();
    let _two = a.mutex("two").lock().await.unwrap();
    let _three = soon("another name", b.mutex("three").lock()).await.unwrap();
}

pub(crate) async fn try_lock_finds_a_held_lock_busy_and_a_free_one_free(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let guard = a.mutex("m").try_lock().await.unwrap().expect("free");
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
    let info = b.mutex("m").info().await.unwrap();
    assert!(info.waiters.is_empty(), "a try leaves nothing behind");
    guard.unlock().await.unwrap();
    assert!(b.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn a_guard_knows_what_it_is(store: &dyn TestStore) {
    let client = store.member();
    let expire = Duration::from_secs(100);
    let guard = client
        .mutex("some:name")
        .expire(expire)
        .lock()
        .await
        .unwrap();
    assert_eq!(guard.name(), "some:name");
    assert!(guard.fencing_token() > 0);
    let left = guard.expires_in();
    assert!(left <= expire && left > expire / 2, "{left:?}");
    assert!(!guard.is_lost());
    guard.check().unwrap();
    let debug = format!("{guard:?}");
    assert!(debug.contains("some:name"), "{debug}");
}

pub(crate) async fn many_members_and_tasks_never_meet_inside(store: &dyn TestStore) {
    let inside = Arc::new(AtomicU32::new(0));
    let entered = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let client = store.member();
        for _ in 0..4 {
            let (client, inside, entered) = (client.clone(), inside.clone(), entered.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..10 {
                    let guard = client.mutex("m").lock().await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    entered.fetch_add(1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                }
            }));
        }
    }
    for task in tasks {
        soon("everybody gets in", task).await.unwrap();
    }
    assert_eq!(entered.load(Ordering::SeqCst), 160);
}
