//! The causes of a lost lock.

use crate::prelude::*;

const LEASE: Duration = Duration::from_secs(4);
const SHORT: Duration = Duration::from_millis(500);

#[track_caller]
fn cause(error: LockError) -> LossCause {
    match error {
        LockError::Lost { cause, .. } => cause,
        other => panic!("not lost: {other:?}"),
    }
}

pub(crate) async fn expire_is_the_cause_however_the_lease_is_renewed(store: &dyn TestStore) {
    let [client, next] = store.members();
    // The first lease is cut to `expire`.
    let mut guards = vec![client.mutex("a").expire(SHORT).lock().await.unwrap()];
    // The second equals `expire`, and the third is renewed until `expire`, unless a stall ends it sooner.
    if store.has_virtual_time() {
        let brief = Client::connect(store.config().lease(LEASE)).unwrap();
        guards.push(brief.mutex("b").expire(LEASE).lock().await.unwrap());
        guards.push(brief.mutex("c").expire(LEASE * 5 / 4).lock().await.unwrap());
    }
    // A refresh with a shorter `expire`. It may be over before the answer comes.
    let guard = client.mutex("d").lock().await.unwrap();
    drop(guard.refresh(SHORT).await);
    // A lock whose grant comes by message.
    let waiter = next.mutex("d").expire(SHORT);
    let waiting = tokio::spawn(async move { waiter.lock().await.unwrap() });
    soon("the end", guard.lost()).await;
    guards.push(soon("the next one", waiting).await.unwrap());
    guards.push(guard);
    for (number, guard) in guards.into_iter().enumerate() {
        soon("the end", guard.lost()).await;
        let known = cause(guard.check().unwrap_err());
        // Elsewhere, an answer may come so late that the lease ends before `expire`.
        let late = number > 0 && !store.has_virtual_time() && known == LossCause::NotRenewed;
        assert!(known == LossCause::Expired || late, "{known}");
        assert_eq!(cause(guard.unlock().await.unwrap_err()), known);
    }
}

pub(crate) async fn a_store_that_lost_the_lock_is_the_cause(store: &dyn TestStore) {
    let client = store.member();
    let guard = client.mutex("m").lock().await.unwrap();
    if !store.forget("m") {
        return;
    }
    let error = guard.refresh("600s").await.unwrap_err();
    assert_eq!(cause(error), LossCause::Forgotten);
    soon("the loss", guard.lost()).await;
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::Forgotten);
    // An unlock that comes before the notification reports the loss too.
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(store.forget("m"));
    let error = guard.unlock().await.unwrap_err();
    assert_eq!(cause(error), LossCause::Forgotten);
}

pub(crate) async fn a_silent_store_is_the_cause(store: &dyn TestStore) {
    let client = Client::connect(store.config().lease(LEASE)).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    if !store.answer(false) {
        return;
    }
    while !store.has_virtual_time() && !guard.is_lost() {
        // A run whose servers are stopped now and then may have continued it.
        store.answer(false);
        tokio::time::sleep(LEASE / 40).await;
    }
    soon("the loss", guard.lost()).await;
    let error = guard.check().unwrap_err();
    store.answer(true);
    assert_eq!(cause(error), LossCause::NotRenewed);
}

pub(crate) async fn what_the_program_itself_ends_says_so(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = client.mutex("m");
    let guard = mutex.lock().await.unwrap();
    assert!(mutex.unlock().await.unwrap());
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::Released);
    let error = mutex.refresh(SHORT).await.unwrap_err();
    assert_eq!(cause(error), LossCause::Released);
    let guard = mutex.lock().await.unwrap();
    client.shutdown().await;
    assert_eq!(cause(guard.check().unwrap_err()), LossCause::ShutDown);
    let guard = other.mutex("t").lock().await.unwrap();
    let ticket = guard.into_ticket().unwrap();
    drop(other.adopt(&ticket).await.unwrap());
    let error = other.adopt(&ticket).await.unwrap_err();
    assert_eq!(cause(error), LossCause::Forgotten);
}
