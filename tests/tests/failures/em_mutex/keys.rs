//! Points 4 and 6: keys without a TTL, and keys that have vanished.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex_tests::events::{LONG, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn em_mutex_04_a_key_without_ttl_does_not_make_a_waiter_spin() {
    let _watch = real_time();
    let rig = Rig::new();
    let lease = Duration::from_secs(2);
    let mut dead = rig.worker(lease);
    dead.lock("m");
    dead.kill9();
    for key in rig.redis.keys() {
        rig.redis.command(&["PERSIST", &key.name]);
    }
    let client = rig.client();
    let before = rig.redis.calls("evalsha");
    let brief = client
        .mutex("m")
        .block(Duration::from_millis(500))
        .lock()
        .await;
    assert!(
        brief.is_ok() || brief.as_ref().is_err_and(LockError::is_timeout),
        "{brief:?}"
    );
    drop(brief);
    // The killed holder's lease ends, although its keys would stay forever.
    let guard = soon("the lease ends", client.mutex("m").lock())
        .await
        .unwrap();
    let asked = rig.redis.calls("evalsha") - before;
    assert!(asked < 30, "{asked} requests for two waits");
    assert!(guard.unlock().await.unwrap());
    assert_eq!(rig.redis.keys_without_ttl(), []);
}

#[tokio::test]
async fn em_mutex_06_flushall_wakes_the_waiters_and_tells_the_holder() {
    let rig = Rig::new();
    let (holder, waiter) = (rig.client(), rig.client());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.unwrap() });
    waiters(&holder.mutex("m"), 1).await;
    rig.redis.command(&["FLUSHALL"]);
    let next = soon("the waiter asks again and gets in", waiting)
        .await
        .unwrap();
    assert!(was_lost(guard.refresh(LONG).await));
    next.check().unwrap();
    assert!(next.unlock().await.unwrap());
}
