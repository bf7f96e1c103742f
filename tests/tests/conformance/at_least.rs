//! `at_least`: the lock is kept in the store after its release, for every kind of lock.

use crate::prelude::*;

const AT_LEAST: Duration = Duration::from_secs(1);

pub(crate) async fn a_guard_ends_it_early(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = client.mutex("m").at_least(AT_LEAST * 600);
    let guard = mutex.lock().await.unwrap();
    guard.end_at_least();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn every_kind_of_guard_is_kept(store: &dyn TestStore) {
    let [client, other] = store.members();
    for (time, [mutex, permits, rw_lock, a, b]) in [
        (AT_LEAST * 600, ["m", "s", "r", "a", "b"]),
        (AT_LEAST, ["m2", "s2", "r2", "a2", "b2"]),
    ] {
        let guard = client.mutex(mutex).at_least(time).lock().await.unwrap();
        assert!(guard.unlock().await.unwrap());
        let permits = client.semaphore(permits, 2).at_least(time);
        let permits = permits.acquire_many(2).await.unwrap();
        permits.release().await.unwrap();
        let lock = client.rw_lock(rw_lock).at_least(time);
        drop(lock.write().await.unwrap());
        let both = client.multi([a, b]).at_least(time).lock().await.unwrap();
        assert!(both.unlock().await.unwrap());
    }
    for name in ["m", "a", "b"] {
        assert!(other.mutex(name).try_lock().await.unwrap().is_none());
    }
    let permit = other.semaphore("s", 2).try_acquire().await.unwrap();
    assert!(permit.is_none());
    assert!(other.rw_lock("r").try_read().await.unwrap().is_none());
    if !store.has_virtual_time() {
        return;
    }
    // The others become free by themselves.
    for name in ["m2", "a2", "b2"] {
        drop(soon("free", other.mutex(name).lock()).await.unwrap());
    }
    let permit = soon("free", other.semaphore("s2", 2).acquire()).await;
    drop(permit.unwrap());
    drop(soon("free", other.rw_lock("r2").read()).await.unwrap());
}
