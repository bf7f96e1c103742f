//! The causes of a lost lock.

use std::time::Duration;

use auto_mutex::{LockError, LossCause};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::{BRIEF, TestStore};

#[track_caller]
fn cause(error: LockError) -> LossCause {
    match error {
        LockError::Lost { cause, .. } => cause,
        other => panic!("not lost: {other:?}"),
    }
}

pub(crate) async fn expire_is_the_cause_however_the_lease_is_renewed(store: &dyn TestStore) {
    let (long, brief) = (store.member(), store.brief_member());
    let guards = [
        // The first lease is cut to `expire`, the second equals `expire`, and the third is renewed until `expire`.
        long.mutex("a").expire(BRIEF / 8).lock().await.unwrap(),
        brief.mutex("b").expire(BRIEF).lock().await.unwrap(),
        brief.mutex("c").expire(BRIEF * 5 / 4).lock().await.unwrap(),
    ];
    for guard in guards {
        soon("the end", guard.lost()).await;
        assert_eq!(cause(guard.check().unwrap_err()), LossCause::Expired);
        let error = guard.unlock().await.unwrap_err();
        assert_eq!(cause(error), LossCause::Expired);
    }
    // Two more cases: a refresh with a shorter `expire`, and a lock whose grant came by message.
    let guard = long.mutex("d").lock().await.unwrap();
    guard.refresh(BRIEF / 8).await.unwrap();
    let waiter = brief.mutex("d").expire(BRIEF / 4);
    let waiting = tokio::spawn(async move { waiter.lock().await.unwrap() });
    soon("the end", guard.lost()).await;
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::Expired);
    let next = soon("the next one", waiting).await.unwrap();
    soon("its end", next.lost()).await;
    assert_eq!(cause(next.check().unwrap_err()), LossCause::Expired);
}

pub(crate) async fn force_unlock_is_the_cause(store: &dyn TestStore) {
    let (holder, breaker) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    let permit = holder.semaphore("s", 3).acquire().await.unwrap();
    assert!(breaker.mutex("m").force_unlock().await.unwrap());
    assert!(breaker.semaphore("s", 3).force_unlock().await.unwrap());
    soon("the loss", guard.lost()).await;
    soon("the loss", permit.lost()).await;
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::Forced);
    // The guards of all kinds of locks report the loss in the same way.
    let error = guard.unlock().await.unwrap_err();
    assert_eq!(cause(error), LossCause::Forced);
    let error = permit.release().await.unwrap_err();
    assert_eq!(cause(error), LossCause::Forced);
}

pub(crate) async fn a_store_that_lost_the_lock_is_the_cause(store: &dyn TestStore) {
    let client = store.brief_member();
    let guard = client.mutex("m").lock().await.unwrap();
    if !store.forget("m") {
        return;
    }
    soon("the loss", guard.lost()).await;
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::Forgotten);
    // An unlock that comes before the notification reports the loss too.
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(store.forget("m"));
    let error = guard.unlock().await.unwrap_err();
    assert_eq!(cause(error), LossCause::Forgotten);
}

pub(crate) async fn a_silent_store_is_the_cause(store: &dyn TestStore) {
    let client = store.brief_member();
    let guard = client.mutex("m").lock().await.unwrap();
    if !store.answer(false) {
        return;
    }
    soon("the loss", guard.lost()).await;
    let error = guard.check().unwrap_err();
    store.answer(true);
    assert_eq!(cause(error), LossCause::NotRenewed);
}

pub(crate) async fn what_the_program_itself_ends_says_so(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = client.mutex("m");
    let guard = mutex.lock().await.unwrap();
    assert!(mutex.unlock().await.unwrap());
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::Released);
    let error = mutex.refresh(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(cause(error), LossCause::Released);
    let guard = mutex.lock().await.unwrap();
    client.shutdown().await;
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::ShutDown);
    let ticket = other
        .mutex("t")
        .lock()
        .await
        .unwrap()
        .into_ticket()
        .unwrap();
    drop(other.adopt(&ticket).await.unwrap());
    let error = other.adopt(&ticket).await.unwrap_err();
    assert_eq!(cause(error), LossCause::Forgotten);
}
