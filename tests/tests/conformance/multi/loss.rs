//! The locks of one call are lost together.

use super::{all_free, is_free};
use crate::prelude::*;

const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn the_loss_of_one_is_the_loss_of_all(store: &dyn TestStore) {
    let [client, breaker] = store.members();
    let guard = client.multi(["a", "b", "c"]).lock().await.unwrap();
    assert!(breaker.mutex("b").force_unlock().await.unwrap());
    soon("the loss is told", guard.lost()).await;
    assert!(guard.is_lost());
    assert_eq!(guard.expires_in(), Duration::ZERO);
    let error = guard.check().unwrap_err();
    is!(error, LockError::Lost { name, .. } if name == "suite:b");
    assert!(guard.refresh(SHORT).await.is_err());
    // The other locks stay held until the guard is dropped, so that no other holder uses them before.
    assert!(!is_free(&breaker, "a").await);
    assert!(was_lost(guard.unlock().await));
    all_free(&breaker, &["a", "b", "c"]).await;
}

pub(crate) async fn a_lost_name_cancels_the_body(store: &dyn TestStore) {
    let [client, breaker] = store.members();
    let (inside, is_inside) = tokio::sync::oneshot::channel();
    let body = tokio::spawn(async move {
        let multi = client.multi(["a", "b"]);
        let body = multi.synchronize(async |_: &MultiGuard| {
            inside.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        body.await
    });
    soon("the body runs", is_inside).await.unwrap();
    assert!(breaker.mutex("b").force_unlock().await.unwrap());
    let error = soon("the end", body).await.unwrap().unwrap_err();
    is!(error, LockError::Lost { name, .. } if name == "suite:b");
    all_free(&breaker, &["a", "b"]).await;
}

pub(crate) async fn expire_counts_from_when_all_are_there(store: &dyn TestStore) {
    let expire = Duration::from_secs(10);
    let [holder, client] = store.members();
    let guard = holder.mutex("b").lock().await.unwrap();
    let waiting = with(&client, |client| async move {
        client
            .multi(["a", "b"])
            .expire(expire)
            .lock()
            .await
            .unwrap()
    });
    waiters(&holder.mutex("b"), 1).await;
    becomes!(
        "`a` is kept for longer than `expire`",
        holder.mutex("a").info().await.unwrap().expires_in > Some(expire)
    );
    if store.has_virtual_time() {
        tokio::time::sleep(expire * 2).await;
        assert!(!is_free(&holder, "a").await);
    }
    guard.unlock().await.unwrap();
    let all = soon("all", waiting).await.unwrap();
    assert!(all.expires_in() <= expire);
    if !store.has_virtual_time() {
        // It may be over before the answer comes.
        drop(all.refresh(SHORT).await);
    }
    soon("then it counts", all.lost()).await;
    // The guard is still there.
    all_free(&holder, &["a", "b"]).await;
}

pub(crate) async fn what_was_lost_while_waiting_is_taken_again(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let guard = holder.mutex("b").lock().await.unwrap();
    let telltale = client.mutex("c").lock().await.unwrap();
    let waiting = tokio::spawn(async move { client.multi(["a", "b"]).lock().await.unwrap() });
    waiters(&holder.mutex("b"), 1).await;
    assert!(holder.mutex("a").force_unlock().await.unwrap());
    let other = soon("free", holder.mutex("a").lock()).await.unwrap();
    // The client is notified of the loss of `a` before that of `c`. When it knows of `c`, it also knows of `a`.
    assert!(holder.mutex("c").force_unlock().await.unwrap());
    soon("the loss is known", telltale.lost()).await;
    guard.unlock().await.unwrap();
    // The call now waits for `a` again, and releases `b`, which comes after `a`.
    waiters(&holder.mutex("a"), 1).await;
    becomes!("what comes after is free", is_free(&holder, "b").await);
    other.unlock().await.unwrap();
    let all = soon("all", waiting).await.unwrap();
    all.check().unwrap();
    assert!(all.unlock().await.unwrap());
}

pub(crate) async fn refresh_and_unlock_are_for_all(store: &dyn TestStore) {
    let [client, other] = store.members();
    let guard = client.multi(["a", "b"]).expire(LONG).lock().await;
    let guard = guard.unwrap();
    guard.refresh(LONG * 4).await.unwrap();
    assert!(guard.expires_in() > LONG);
    let error = guard.refresh(Duration::from_millis(1)).await.unwrap_err();
    is!(error, LockError::InvalidOption { .. });
    guard.check().unwrap();
    assert!(other.mutex("b").force_unlock().await.unwrap());
    soon("the loss", guard.lost()).await;
    assert!(was_lost(guard.unlock().await), "not all of it was held");
    all_free(&other, &["a", "b"]).await;
}
