//! Points 5 and 6: keys without a time to live, and keys that vanish one by one.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex_tests::clock::Clock;
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Options;
use auto_mutex_tests::seed::Seed;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn semaphore_05_no_step_leaves_a_key_without_ttl() {
    let rig = Rig::new();
    let [one, two, three] = [rig.client(), rig.client(), rig.client()];
    let kept_for = |limit: i64, what: &str| {
        let keys = rig.redis.keys();
        assert!(!keys.is_empty(), "after {what}");
        assert!(
            keys.iter().all(|key| (0..=limit).contains(&key.ttl)),
            "after {what}: {keys:?}"
        );
    };
    let step = |what: &str| kept_for(1_300_000, what);
    // Tokens that wait, or may come back, are kept for a day.
    let with_a_token = |what: &str| kept_for(88_000_000, what);
    let [one, two, three] = [one, two, three].map(|client| client.semaphore("s", 2));
    let first = one.acquire().await.unwrap();
    step("a first permit");
    let second = two.acquire().await.unwrap();
    step("a second permit");
    assert!(three.try_acquire().await.unwrap().is_none());
    step("a try");
    assert!(two.delete().await.is_err());
    step("a refused delete");
    one.signal("token").await.unwrap();
    with_a_token("a signal");
    let token = one.acquire().await.unwrap();
    with_a_token("a signal taken");
    assert_eq!(token.token(), Some("token"));
    let waiting = tokio::spawn({
        let three = three.clone();
        async move { three.acquire_many(2).await }
    });
    waiters(&rig.client().mutex("s"), 1).await;
    with_a_token("a waiter");
    first.refresh(Duration::from_secs(90_000)).await.unwrap();
    with_a_token("a renewal");
    assert_eq!(first.release().await.unwrap(), 1);
    with_a_token("a release");
    assert_eq!(second.release().await.unwrap(), 0);
    with_a_token("a release to a waiter");
    let both = soon("both", waiting).await.unwrap().unwrap();
    with_a_token("a claim");
    assert!(two.force_unlock().await.unwrap());
    with_a_token("a forced release");
    assert!(both.release().await.is_err() && token.release().await.is_err());
    with_a_token("a stale release");
    assert_eq!(two.available().await.unwrap(), 3, "the signal went back");
    assert!(one.delete().await.unwrap());
    step("a delete");
    two.signal("again").await.unwrap();
    with_a_token("a signal where there was nothing");
}

#[tokio::test]
async fn semaphore_05_a_crash_between_any_two_steps_leaves_no_key_without_ttl() {
    let _watch = real_time();
    let mut seed = Seed::announce("semaphore_05_a_crash_between_any_two_steps");
    let rig = Rig::new();
    for round in 0..12 {
        let mut worker = rig.worker(Duration::from_millis(300));
        // In every second round the worker finishes a cycle before it is killed, however slow the machine is.
        if round % 2 == 1 {
            worker.say("acquire s 2");
            worker.got("s");
            worker.say("unlock s");
        }
        for _ in 0..4 {
            worker.say("acquire s 2");
            worker.say("unlock s");
        }
        tokio::time::sleep(Duration::from_micros(seed.below(4000))).await;
        worker.kill9();
        assert_eq!(rig.redis.keys_without_ttl(), []);
    }
    assert!(!rig.redis.keys().is_empty(), "nobody came that far");
}

#[tokio::test]
async fn semaphore_06_a_key_that_vanishes_alone_blocks_nobody() {
    let clock = match Clock::new() {
        Ok(clock) => Arc::new(clock),
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let rig = Rig::with(Options::default().least_rights().clock(&clock));
    let suffixes = [
        "", ":tickets", ":held", ":tokens", ":queue", ":waits", ":gone", ":signals",
    ];
    let mut ends = Vec::new();
    let clients = [(); 3].map(|()| rig.client());
    for (number, suffix) in suffixes.into_iter().enumerate() {
        for holders in [1, 2] {
            let name = format!("s{number}-{holders}");
            let [one, two, waiter] = clients.each_ref().map(|it| it.semaphore(name.as_str(), 2));
            let mut permits = vec![one.acquire().await.unwrap()];
            if holders == 2 {
                permits.push(two.acquire().await.unwrap());
            }
            let waiting = tokio::spawn(async move { waiter.acquire_many(2).await.map(drop) });
            waiters(&clients[0].mutex(name.as_str()), 1).await;
            one.signal("token").await.unwrap();
            let key = format!("auto_mutex:{{suite:{name}}}{suffix}");
            rig.redis.command(&["DEL", &key]);
            drop(permits);
            ends.push((format!("{suffix:?}, {holders} holders"), waiting, one));
        }
    }
    // The store cannot know which of several holders are left, so it waits for the end of the longest possible lease.
    clock.forward(2 * LONG);
    for (what, waiting, semaphore) in ends {
        let ended = soon(&what, waiting).await.unwrap();
        assert!(
            matches!(ended, Ok(()) | Err(LockError::ForeignKey { .. })),
            "{what}: {ended:?}"
        );
        let brief = semaphore.block(Duration::from_millis(300));
        becomes(&format!("it works again: {what}"), async || {
            let Ok(both) = brief.acquire_many(2).await else {
                return false;
            };
            let left = both.release().await.unwrap();
            assert!((2..=3).contains(&left), "{what}: {left}");
            true
        })
        .await;
    }
    assert_eq!(rig.redis.keys_without_ttl(), []);
}
