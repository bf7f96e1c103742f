//! Points 8, 10 and 11: requests that are refused, instead of being ignored, half executed, or answered by a guess.

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::Options;

use crate::rig::{Rig, config};

#[tokio::test]
async fn semaphore_11_an_error_of_time_never_brings_in_the_clients_clock() {
    let rig = Rig::with(
        Options::default()
            .password("admin")
            .user("locker", "pass", "~* &* +@all"),
    );
    let client = Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("1s")).unwrap();
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
