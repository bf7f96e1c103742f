//! Points 8, 10 and 11: requests that are refused, instead of being ignored, half executed, or answered by a guess.

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::Options;

use crate::rig::{Rig, config, waiters};

#[track_caller]
fn mismatch<T: std::fmt::Debug>(result: Result<T, LockError>) -> (u32, u32) {
    match result {
        Err(LockError::PermitsMismatch {
            expected, found, ..
        }) => (expected, found),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn semaphore_08_another_number_of_permits_is_an_error() {
    let rig = Rig::new();
    let (one, two) = (rig.client(), rig.client());
    let permit = one.semaphore("s", 2).acquire().await.unwrap();
    for permits in [0, 1, 3, 100] {
        let other = two.semaphore("s", permits);
        assert_eq!(
            mismatch(soon("an answer", other.acquire()).await),
            (permits, 2)
        );
        assert_eq!(mismatch(other.try_acquire().await), (permits, 2));
    }
    let text = two.mutex("s").lock().await.map(drop).unwrap_err();
    assert!(text.to_string().contains("a mutex"), "{text}");
    let text = two.rw_lock("s").read().await.map(drop).unwrap_err();
    assert!(text.to_string().contains("readers-writer"), "{text}");
    // The refused calls have changed nothing.
    assert_eq!(two.semaphore("s", 2).available().await.unwrap(), 1);
    permit.check().unwrap();
    assert_eq!(permit.release().await.unwrap(), 2);
    // No holder and no waiter is left, so another size may be used.
    let permit = two.semaphore("s", 3).acquire().await.unwrap();
    assert_eq!(mismatch(one.semaphore("s", 2).acquire().await), (2, 3));
    assert_eq!(permit.release().await.unwrap(), 3);
}

#[tokio::test]
async fn semaphore_10_delete_while_held_lets_nobody_in() {
    let rig = Rig::new();
    let (holder, client, other) = (rig.client(), rig.client(), rig.client());
    let semaphore = other.semaphore("s", 1);
    assert!(!semaphore.exists().await.unwrap());
    assert!(!semaphore.delete().await.unwrap(), "there is nothing");
    let permit = holder.semaphore("s", 1).acquire().await.unwrap();
    assert!(semaphore.exists().await.unwrap());
    let waiting = tokio::spawn(async move { client.semaphore("s", 1).acquire().await });
    waiters(&other.mutex("s"), 1).await;
    let refused = soon("an answer", semaphore.delete()).await;
    assert!(
        matches!(
            &refused,
            Err(LockError::InUse { name, holders: 1, waiters: 1, .. }) if name == "suite:s"
        ),
        "{refused:?}"
    );
    // The waiter was not granted, and the holder still holds.
    let info = other.mutex("s").info().await.unwrap();
    assert_eq!((info.holders.len(), info.waiters.len()), (1, 1));
    assert!(!waiting.is_finished());
    permit.check().unwrap();
    assert_eq!(permit.release().await.unwrap(), 0);
    let permit = soon("in its turn", waiting).await.unwrap().unwrap();
    assert!(semaphore.delete().await.is_err(), "held again");
    semaphore.signal("left over").await.unwrap();
    assert_eq!(permit.release().await.unwrap(), 2);
    // The semaphore is free, so it is deleted with its tokens.
    assert!(semaphore.delete().await.unwrap());
    assert!(!semaphore.exists().await.unwrap());
    assert_eq!(semaphore.available().await.unwrap(), 1);
    assert!(!semaphore.delete().await.unwrap());
}

#[tokio::test]
async fn semaphore_11_an_error_of_time_never_brings_in_the_clients_clock() {
    let rig = Rig::with(
        Options::default()
            .password("admin")
            .user("locker", "pass", "~* &* +@all"),
    );
    let client =
        Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("300ms")).unwrap();
    let semaphore = client.semaphore("s", 2);
    let permit = semaphore.acquire().await.unwrap();
    let before = rig.redis.keys().len();
    rig.redis.command(&["ACL", "SETUSER", "locker", "-time"]);
    for _ in 0..3 {
        let error = soon("an answer", semaphore.try_acquire()).await;
        assert!(
            matches!(error, Err(LockError::Unavailable { .. })),
            "{error:?}"
        );
    }
    // No permit was granted by another clock, and nothing was half done.
    rig.redis.command(&["ACL", "SETUSER", "locker", "+time"]);
    assert_eq!((rig.redis.held(), rig.redis.keys().len()), (1, before));
    permit.check().unwrap();
    becomes("it works again", async || {
        let second = semaphore.try_acquire().await;
        second.is_ok_and(|second| second.is_some())
    })
    .await;
    assert!(permit.release().await.is_ok());
}
