//! `at_least`: the lock is kept in the store after its release, for every kind of lock.

use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::{BRIEF, TestStore};
use tokio::time::Instant;

pub(crate) async fn every_kind_of_guard_is_kept(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let granted = Instant::now();
    let mutex = client.mutex("m").at_least(BRIEF);
    let semaphore = client.semaphore("s", 2).at_least(BRIEF);
    let rw_lock = client.rw_lock("r").at_least(BRIEF);
    let multi = client.multi(["a", "b"]).at_least(BRIEF);
    assert!(mutex.lock().await.unwrap().unlock().await.unwrap());
    semaphore
        .acquire_many(2)
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    drop(rw_lock.write().await.unwrap());
    assert!(multi.lock().await.unwrap().unlock().await.unwrap());
    let free = async || {
        [
            other.mutex("m").try_lock().await.unwrap().is_some(),
            other
                .semaphore("s", 2)
                .try_acquire()
                .await
                .unwrap()
                .is_some(),
            other.rw_lock("r").try_read().await.unwrap().is_some(),
            other.mutex("a").try_lock().await.unwrap().is_some(),
            other.mutex("b").try_lock().await.unwrap().is_some(),
        ]
    };
    let found = free().await;
    // The check is skipped if the machine stalled meanwhile.
    if granted.elapsed() < BRIEF / 2 {
        assert_eq!(found, [false; 5]);
    }
    // The locks become free by themselves.
    for name in ["m", "a", "b"] {
        drop(soon("free", other.mutex(name).lock()).await.unwrap());
    }
    drop(
        soon("free", other.semaphore("s", 2).acquire())
            .await
            .unwrap(),
    );
    drop(soon("free", other.rw_lock("r").read()).await.unwrap());
    assert!(granted.elapsed() >= BRIEF / 2);
}
