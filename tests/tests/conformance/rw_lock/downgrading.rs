//! A writer that continues as a reader.

use crate::prelude::*;

pub(crate) async fn a_downgraded_writer_lets_readers_in_but_no_writer(store: &dyn TestStore) {
    let [holder, reader, writer] = store.members();
    let guard = holder.rw_lock("l").write().await.unwrap();
    let token = guard.fencing_token();
    let reading = tokio::spawn(async move { reader.rw_lock("l").read().await.unwrap() });
    waiters(&holder.rw_lock("l"), 1).await;
    // Another task of the same client.
    let beside = with(&holder, |holder| async move {
        holder.rw_lock("l").read().await.unwrap()
    });
    waiters(&holder.rw_lock("l"), 2).await;
    let writing = tokio::spawn(async move { writer.rw_lock("l").write().await.unwrap() });
    waiters(&holder.rw_lock("l"), 3).await;
    let guard = soon("the downgrade", guard.downgrade()).await.unwrap();
    assert_eq!(guard.fencing_token(), token, "it is the same hold");
    let other = soon("the reader", reading).await.unwrap();
    drop(soon("the other task", beside).await.unwrap());
    assert!(!writing.is_finished());
    assert!(other.unlock().await.unwrap());
    guard.check().unwrap();
    assert!(!writing.is_finished());
    assert!(guard.unlock().await.unwrap());
    drop(soon("the writer", writing).await.unwrap());
}

pub(crate) async fn a_downgrade_of_what_is_lost_says_so(store: &dyn TestStore) {
    let [holder, breaker] = store.members();
    let guard = holder.rw_lock("l").write().await.unwrap();
    assert!(breaker.rw_lock("l").force_unlock().await.unwrap());
    let writer = soon("the next one", breaker.rw_lock("l").write()).await;
    let writer = writer.unwrap();
    // The guard does not become a reader, whether the client receives the notification of the loss or the answer first.
    let error = soon("an answer", guard.downgrade()).await.unwrap_err();
    is!(error, LockError::Lost { .. });
    writer.check().unwrap();
    assert!(writer.unlock().await.unwrap());
}

pub(crate) async fn a_downgrade_inside_of_a_writer_changes_nothing(store: &dyn TestStore) {
    let [client, other] = store.members();
    let lock = client.rw_lock("l").reentrant();
    let body = lock.synchronize_write(async |outer: &RwLockWriteGuard| {
        let inner = lock.write().await.unwrap();
        let reader = soon("at once", inner.downgrade()).await.unwrap();
        // The outer body still writes.
        assert!(other.rw_lock("l").try_read().await.unwrap().is_none());
        drop(reader);
        outer.check().unwrap();
        assert!(other.rw_lock("l").try_read().await.unwrap().is_none());
    });
    soon("the body", body).await.unwrap();
    drop(soon("free", other.rw_lock("l").write()).await.unwrap());
}
