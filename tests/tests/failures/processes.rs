//! Processes that are killed or suspended while they hold or wait.

use std::time::Duration;

use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::worker::{self, Worker};

use crate::rig::{Rig, waiters};

const LEASE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_killed_holder_frees_the_lock_within_one_lease() {
    let _watch = real_time();
    let rig = Rig::new();
    let client = rig.client();
    let mut holder = rig.worker(LEASE);
    let token = holder.lock("m");
    holder.kill9();
    // At most one lease is left, and no process renews it.
    let left = client.mutex("m").info().await.unwrap().expires_in;
    assert!(left.is_none_or(|left| left <= LEASE), "{left:?}");
    let guard = soon("the next one", client.mutex("m").lock()).await;
    assert!(guard.unwrap().fencing_token() > token);
}

#[tokio::test]
async fn a_process_suspended_beyond_its_lease_knows_it_when_it_wakes() {
    let _watch = real_time();
    let rig = Rig::new();
    let client = rig.client();
    let mut holder = rig.worker(LEASE);
    let token = holder.lock("m");
    holder.stop();
    let guard = soon("the next one", client.mutex("m").lock())
        .await
        .unwrap();
    assert!(guard.fencing_token() > token);
    holder.cont();
    holder.say("check m");
    // The lines may come in either order: the process never claims to hold the lock.
    let mut heard = [holder.hear().unwrap(), holder.hear().unwrap()];
    heard.sort();
    assert_eq!(heard, ["loss m", "lost m"]);
    holder.say("unlock m");
    holder.expect("unlocked m false");
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
}

/// The conformance suite has the order of the grants, in virtual time. A process that stands still at its turn is
/// passed over, and keeps its place.
#[tokio::test]
async fn a_lock_goes_from_process_to_process_in_order() {
    let rig = Rig::new();
    let mutex = rig.client().mutex("m");
    let mut holder = rig.worker(LONG);
    let mut last = holder.lock("m");
    let mut waiting: Vec<_> = (0..3).map(|_| rig.worker(LONG)).collect();
    for (number, worker) in waiting.iter_mut().enumerate() {
        worker.say("lock m");
        waiters(&mutex, number + 1).await;
    }
    while !waiting.is_empty() {
        let places = mutex.info().await.unwrap().waiters;
        let places: Vec<_> = places.iter().map(|waiter| waiter.pid).collect();
        let pids: Vec<_> = waiting.iter().map(Worker::pid).collect();
        assert_eq!(places, pids, "in the order of arrival");
        holder.say("unlock m");
        holder.expect("unlocked m true");
        let (next, token) = worker::next(&mut waiting, "m");
        assert!(token > last);
        (holder, last) = (next, token);
        waiters(&mutex, waiting.len()).await;
    }
}

#[tokio::test]
async fn a_killed_waiter_is_forgotten() {
    let _watch = real_time();
    let rig = Rig::new();
    let lease = Duration::from_millis(900);
    let holder = rig.client();
    let guard = holder.mutex("m").lock().await.unwrap();
    let mut waiter = rig.worker(lease);
    waiter.say("lock m");
    waiters(&holder.mutex("m"), 1).await;
    waiter.kill9();
    waiters(&holder.mutex("m"), 0).await;
    assert!(guard.unlock().await.unwrap());
    becomes("nothing is left but the token", async || {
        rig.redis
            .keys()
            .iter()
            .all(|key| key.is_token() || key.is_gone_set())
    })
    .await;
    assert_eq!(rig.redis.keys_without_ttl(), []);
}
