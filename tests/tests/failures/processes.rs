//! Processes that are killed or suspended while they hold or wait.

use std::time::Duration;

use auto_mutex_tests::events::{LONG, becomes, eventually, soon};

use crate::rig::{Rig, waiters};

const LEASE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_killed_holder_frees_the_lock_within_one_lease() {
    let rig = Rig::new();
    let client = rig.client();
    let mut holder = rig.worker(LEASE);
    let token = holder.lock("m");
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("m").lock().await.unwrap() }
    });
    waiters(&client.mutex("m"), 1).await;
    holder.kill9();
    // At most one lease is left, and no process renews it.
    let left = client.mutex("m").info().await.unwrap().expires_in;
    assert!(left.is_none_or(|left| left <= LEASE), "{left:?}");
    let guard = soon("the next one", waiting).await.unwrap();
    assert!(guard.fencing_token() > token);
}

#[tokio::test]
async fn a_process_suspended_beyond_its_lease_knows_it_when_it_wakes() {
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

#[tokio::test]
async fn a_process_suspended_for_less_keeps_its_lock() {
    let rig = Rig::new();
    let mut holder = rig.worker(LONG);
    holder.lock("m");
    holder.stop();
    tokio::time::sleep(Duration::from_millis(500)).await;
    holder.cont();
    holder.say("check m");
    holder.expect("held m");
    holder.say("unlock m");
    holder.expect("unlocked m true");
}

#[tokio::test]
async fn a_lock_goes_from_process_to_process_in_order() {
    let rig = Rig::new();
    let observer = rig.client();
    let mut workers: Vec<_> = (0..4).map(|_| rig.worker(LONG)).collect();
    let mut last = workers[0].lock("m");
    for (number, worker) in workers.iter_mut().enumerate().skip(1) {
        worker.say("lock m");
        waiters(&observer.mutex("m"), number).await;
    }
    let mut workers = workers.into_iter().peekable();
    while let Some(mut worker) = workers.next() {
        worker.say("unlock m");
        worker.expect("unlocked m true");
        if let Some(next) = workers.peek() {
            let token = next.got("m");
            assert!(token > last);
            last = token;
        }
    }
}

#[tokio::test]
async fn a_killed_waiter_is_forgotten() {
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

#[test]
fn a_worker_whose_store_goes_away_for_good_does_not_hang() {
    let rig = Rig::new();
    let mut worker = rig.worker(Duration::from_millis(900));
    worker.lock("m");
    rig.redis.kill9();
    worker.expect("loss m");
    worker.say("lock other");
    let words = worker.expect("failed other ");
    assert!(words[0].starts_with("Unavailable"), "{words:?}");
    worker.say("return");
    eventually("it ends", || worker.has_ended());
}
