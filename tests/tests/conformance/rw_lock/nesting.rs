//! The same task takes the same lock twice.

use crate::prelude::*;

pub(crate) async fn a_nested_call_is_refused(store: &dyn TestStore) {
    let client = store.member();
    let lock = client.rw_lock("l");
    let reading = lock.synchronize_read(async |guard: &RwLockReadGuard| {
        let already = |error| matches!(error, LockError::AlreadyHeld { .. });
        assert!(already(soon("no", lock.read()).await.unwrap_err()));
        assert!(already(soon("no", lock.write()).await.unwrap_err()));
        assert!(lock.try_read().await.unwrap().is_none());
        assert!(lock.blocking_try_write().unwrap().is_none());
        guard.check().unwrap();
    });
    soon("the body", reading).await.unwrap();
}

pub(crate) async fn a_reentrant_reader_reads_on_and_does_not_write(store: &dyn TestStore) {
    let client = store.member();
    let lock = client.rw_lock("l").reentrant();
    let reading = lock.synchronize_read(async |outer: &RwLockReadGuard| {
        let inner = soon("at once", lock.read()).await.unwrap();
        assert_eq!(inner.fencing_token(), outer.fencing_token());
        assert!(!inner.unlock().await.unwrap(), "the outer one still reads");
        let error = soon("no", lock.write()).await.unwrap_err();
        let LockError::Deadlock { cycle, .. } = &error else {
            panic!("{error:?}");
        };
        let hops = cycle
            .iter()
            .map(|hop| (hop.holds.as_str(), hop.waits_for.as_str()));
        assert_eq!(hops.collect::<Vec<_>>(), [("suite:l", "suite:l")]);
        let error = lock.blocking_write().unwrap_err();
        is!(error, LockError::Deadlock { .. });
        assert!(lock.try_write().await.unwrap().is_none());
        outer.check().unwrap();
    });
    soon("the body", reading).await.unwrap();
    drop(soon("free", lock.write()).await.unwrap());
}

pub(crate) async fn a_reentrant_writer_reads_and_writes_on(store: &dyn TestStore) {
    let [client, other] = store.members();
    let lock = client.rw_lock("l").reentrant();
    let writing = lock.synchronize_write(async |outer: &RwLockWriteGuard| {
        let reader = soon("at once", lock.read()).await.unwrap();
        let writer = soon("at once", lock.write()).await.unwrap();
        assert_eq!(reader.fencing_token(), outer.fencing_token());
        drop(writer);
        let body = lock.synchronize_read(async |_: &RwLockReadGuard| {
            drop(soon("what the outer one has", lock.write()).await.unwrap());
        });
        soon("the inner body", body).await.unwrap();
        assert!(other.rw_lock("l").try_read().await.unwrap().is_none());
        assert!(!reader.unlock().await.unwrap());
    });
    soon("the body", writing).await.unwrap();
    drop(soon("free", other.rw_lock("l").write()).await.unwrap());
}

pub(crate) async fn a_reentrant_handle_knows_all_its_readers(store: &dyn TestStore) {
    let lock = store.member().rw_lock("l").reentrant();
    let first = tokio::spawn(async move {
        let outer = lock.read().await.unwrap();
        let second = lock.clone();
        let second = tokio::spawn(async move { second.read().await.unwrap() });
        let second = soon("beside it", second).await.unwrap();
        assert_ne!(second.fencing_token(), outer.fencing_token());
        let inner = soon("at once", lock.read()).await.unwrap();
        assert_eq!(inner.fencing_token(), outer.fencing_token());
        let error = soon("no", lock.write()).await.unwrap_err();
        is!(error, LockError::Deadlock { .. });
    });
    soon("the task", first).await.unwrap();
}
