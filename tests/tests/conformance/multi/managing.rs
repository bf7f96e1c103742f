//! Several locks: queries about them, actions through their handle, and taking them again.

use super::{all_free, is_free};
use crate::prelude::*;

pub(crate) async fn the_handle_acts_on_all(store: &dyn TestStore) {
    let [client, other] = store.members();
    let multi = client.multi(["b", "a", "b"]).expire(LONG);
    assert!(!multi.is_owned().await.unwrap());
    assert!(!multi.unlock().await.unwrap());
    let error = multi.refresh(LONG).await.unwrap_err();
    is!(error, LockError::Lost { .. });
    let guard = multi.lock().await.unwrap();
    let clone = multi.clone();
    assert!(clone.is_owned().await.unwrap());
    assert!(!other.multi(["a", "b"]).is_owned().await.unwrap());
    assert!(other.multi(["x", "b"]).is_locked().await.unwrap());
    assert!(!other.multi(["x", "y"]).is_locked().await.unwrap());
    clone.refresh(LONG * 4).await.unwrap();
    assert!(guard.expires_in() > LONG);
    assert!(clone.unlock().await.unwrap());
    assert!(guard.is_lost());
    let thread = store.thread(move || {
        assert!(!multi.blocking_is_owned().unwrap());
        assert!(multi.blocking_refresh(LONG).is_err());
        assert!(!multi.blocking_unlock().unwrap());
        assert!(!multi.blocking_is_locked().unwrap());
        assert!(!multi.blocking_force_unlock().unwrap());
        multi.blocking_info().unwrap().len()
    });
    assert_eq!(thread.await.unwrap(), 3);
    all_free(&other, &["a", "b"]).await;
    // The handle does not own its locks if only one of them is held.
    let _one = other.mutex("a").lock().await.unwrap();
    assert!(!other.multi(["a", "b"]).is_owned().await.unwrap());
    // The answers come in the order given.
    let infos = client.multi(["c", "a", "b", "a"]).info().await.unwrap();
    let locked: Vec<_> = infos.iter().map(|info| info.locked).collect();
    assert_eq!(locked, [false, true, false, true]);
}

pub(crate) async fn who_breaks_them_frees_all(store: &dyn TestStore) {
    let [client, breaker] = store.members();
    let guard = client.multi(["a", "b"]).lock().await.unwrap();
    let multi = breaker.multi(["c", "b", "a"]);
    assert!(multi.force_unlock().await.unwrap());
    soon("the loss", guard.lost()).await;
    assert!(!multi.force_unlock().await.unwrap());
    let all = soon("all are free", multi.lock()).await.unwrap();
    assert!(was_lost(guard.unlock().await));
    assert!(all.unlock().await.unwrap());
}

pub(crate) async fn a_nested_call_of_one_of_them_is_refused_or_enters_again(store: &dyn TestStore) {
    let [client, other] = store.members();
    let multi = client.multi(["a", "b"]);
    let body = multi.synchronize(async |outer: &MultiGuard| {
        let error = soon("no", client.mutex("b").lock()).await.unwrap_err();
        is!(error, LockError::AlreadyHeld { .. });
        let error = soon("no", client.multi(["b", "c"]).lock())
            .await
            .unwrap_err();
        is!(error, LockError::AlreadyHeld { .. });
        assert!(client.multi(["b", "c"]).try_lock().await.unwrap().is_none());
        let inner = client.mutex("b").reentrant().lock().await.unwrap();
        assert_eq!(Some(inner.fencing_token()), outer.fencing_token_of("b"));
        assert!(
            !inner.unlock().await.unwrap(),
            "the outer one still holds it"
        );
        assert!(other.mutex("b").try_lock().await.unwrap().is_none());
        drop(soon("another", client.mutex("c").lock()).await.unwrap());
    });
    soon("the body", body).await.unwrap();
    all_free(&other, &["a", "b", "c"]).await;
}

pub(crate) async fn a_reentrant_call_takes_what_is_missing(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = client.mutex("b");
    let body = mutex.synchronize(async |outer: &MutexGuard| {
        let multi = client.multi(["c", "b", "a"]).reentrant();
        let body = multi.synchronize(async |guard: &MultiGuard| {
            assert_eq!(guard.fencing_token_of("b"), Some(outer.fencing_token()));
            assert!(!is_free(&other, "a").await);
            let body = multi.synchronize(async |inner: &MultiGuard| inner.fencing_token());
            let token = soon("all again", body).await.unwrap();
            assert_eq!(token, guard.fencing_token());
            guard.check().unwrap();
        });
        soon("the others", body).await.unwrap();
        all_free(&other, &["a", "c"]).await;
        outer.check().unwrap();
        assert!(other.mutex("b").try_lock().await.unwrap().is_none());
    });
    soon("the body", body).await.unwrap();
    all_free(&other, &["a", "b", "c"]).await;
}
