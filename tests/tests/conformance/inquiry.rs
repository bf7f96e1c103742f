//! Questions about a lock.

use auto_mutex::MutexGuard;
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn is_locked_and_is_owned_tell_apart(store: &dyn TestStore) {
    let (a, b) = (store.member().mutex("m"), store.member().mutex("m"));
    let state = async || {
        (
            a.is_locked().await.unwrap(),
            a.is_owned().await.unwrap(),
            b.is_locked().await.unwrap(),
            b.is_owned().await.unwrap(),
        )
    };
    assert_eq!(state().await, (false, false, false, false));
    let guard = a.lock().await.unwrap();
    assert_eq!(state().await, (true, true, true, false));
    guard.unlock().await.unwrap();
    assert_eq!(state().await, (false, false, false, false));
    // Inside a protected call, any handle knows; in a task that it spawns, none does.
    let client = store.member();
    client
        .mutex("m")
        .synchronize(async |_: &MutexGuard| {
            assert!(client.mutex("m").is_owned().await.unwrap());
            let other = client.mutex("m");
            let spawned = tokio::spawn(async move { other.is_owned().await.unwrap() });
            assert!(!soon("an answer", spawned).await.unwrap());
        })
        .await
        .unwrap();
}

pub(crate) async fn info_shows_holder_waiters_and_token(store: &dyn TestStore) {
    let (a, b, observer) = (store.member(), store.member(), store.member());
    let guard = a.mutex("m").lock().await.unwrap();
    let waiter = tokio::spawn(async move { b.mutex("m").lock().await.unwrap() });
    becomes("the waiter is seen", async || {
        observer.mutex("m").info().await.unwrap().waiters.len() == 1
    })
    .await;
    let info = observer.mutex("m").info().await.unwrap();
    assert!(info.locked);
    assert_eq!(info.holders.len(), 1);
    assert_eq!(info.holders[0].pid, std::process::id());
    assert!(!info.holders[0].host.is_empty());
    assert!(
        info.fencing_token
            .is_some_and(|token| token <= guard.fencing_token())
    );
    assert!(info.expires_in.is_some_and(|left| !left.is_zero()));
    guard.unlock().await.unwrap();
    let guard = soon("the waiter", waiter).await.unwrap();
    guard.unlock().await.unwrap();
    let info = observer.mutex("m").info().await.unwrap();
    assert!(!info.locked && info.holders.is_empty() && info.waiters.is_empty());
    assert!(info.expires_in.is_none());
}

pub(crate) async fn asking_changes_nothing(store: &dyn TestStore) {
    let observer = store.member();
    for _ in 0..3 {
        let info = observer.mutex("never used").info().await.unwrap();
        assert!(!info.locked && info.fencing_token.is_none());
        assert!(!observer.mutex("never used").is_locked().await.unwrap());
    }
    if let Some(server) = store.server() {
        assert_eq!(server.keys(), []);
    }
}
