//! redis_exp_lock and redis-exp-lock-js, point by point.

use std::time::Duration;

use auto_mutex::{Client, LockError, SetupError};
use auto_mutex_tests::events::{becomes, soon, waiters, with};
use auto_mutex_tests::real_time::real_time;

use crate::rig::{Rig, config};

#[tokio::test]
async fn exp_lock_1_a_lost_reply_does_not_lock_the_caller_out() {
    let rig = Rig::new();
    let (client, other) = (rig.proxied(), rig.client());
    for round in 0..5 {
        rig.proxy.lose_reply_after(round * 3);
        // The store has granted the lock; the client asks again for the same ticket.
        let guard = soon("granted once", client.mutex("m").lock())
            .await
            .unwrap();
        assert_eq!(rig.redis.held(), 1);
        assert!(guard.unlock().await.unwrap());
        let guard = soon("free", other.mutex("m").lock()).await.unwrap();
        assert!(guard.unlock().await.unwrap());
    }
}

#[tokio::test]
async fn exp_lock_2_a_grant_counts_from_the_sending_of_its_request() {
    let _watch = real_time();
    let rig = Rig::new();
    let config = rig.proxied_config().lease("2s").store_timeout("60s");
    let (client, other) = (Client::connect(config).unwrap(), rig.client());
    rig.proxy.hold_replies();
    let asking = with(
        &client,
        |client| async move { client.mutex("m").lock().await },
    );
    // The grant is immediate, but its answer arrives after the end of the lease. (The key stays, because it has the
    // token.)
    becomes("the grant is made", async || {
        let key = rig.redis.command(&["EXISTS", "auto_mutex:{suite:m}"]);
        key.to_string() == "1"
    })
    .await;
    let mutex = other.mutex("m");
    let between = soon("the lease is over", mutex.lock()).await.unwrap();
    rig.proxy.thaw();
    // It has read the answer, and asked again.
    waiters(&mutex, 1).await;
    soon("an answer", client.mutex("m").info()).await.unwrap();
    assert!(
        !asking.is_finished(),
        "the late answer let it in beside the next holder"
    );
    let token = between.fencing_token();
    assert!(between.unlock().await.unwrap());
    let guard = soon("a grant of its own", asking).await.unwrap().unwrap();
    assert!(guard.fencing_token() > token);
}

#[tokio::test]
async fn exp_lock_3_a_bad_lifetime_is_refused_and_leaves_no_key() {
    let rig = Rig::new();
    let url = rig.redis.url();
    let refused = |result: Result<Client, SetupError>| match result {
        Err(SetupError::InvalidOption { option, .. }) => option,
        other => panic!("{other:?}"),
    };
    for lease in ["0s", "999999999999d"] {
        assert_eq!(refused(Client::connect(config(&url).lease(lease))), "lease");
    }
    let client = rig.client();
    let zero = client.mutex("m").expire(Duration::ZERO).lock().await;
    assert!(
        matches!(
            zero,
            Err(LockError::InvalidOption {
                option: "expire",
                ..
            })
        ),
        "{zero:?}"
    );
    assert_eq!(rig.redis.keys(), [], "nothing reached the store");
    // Other extreme values either work or are refused; no key stays without a TTL.
    for expire in [
        Duration::MAX,
        Duration::from_secs(u64::MAX),
        Duration::from_nanos(1),
    ] {
        let lock = client.mutex("m").expire(expire);
        match soon(&format!("an answer for {expire:?}"), lock.lock()).await {
            Ok(guard) => drop(guard.unlock().await.unwrap()),
            Err(
                LockError::InvalidOption { .. }
                | LockError::Lost { .. }
                | LockError::Timeout { .. },
            ) => {}
            Err(error) => panic!("{expire:?}: {error:?}"),
        }
        assert_eq!(rig.redis.keys_without_ttl(), []);
    }
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(guard.refresh(Duration::ZERO).await.is_err());
    let _ = guard.refresh(Duration::MAX).await;
    assert_eq!(rig.redis.keys_without_ttl(), []);
}
