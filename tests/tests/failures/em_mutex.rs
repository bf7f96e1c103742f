//! redis-em-mutex, point by point.

use std::time::{Duration, SystemTime};

use auto_mutex::{Client, LockError, MutexGuard};
use auto_mutex_tests::events::{LONG, becomes, eventually_within, soon};
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker;

use tokio::task::JoinHandle;

use crate::rig::{Rig, config, waiters};

#[tokio::test]
async fn em_mutex_01_expiry_never_comes_from_the_clients_clock() {
    let rig = Rig::new();
    let mut monitor = rig.redis.connect();
    monitor.call(&["MONITOR"]);
    let client = rig.leasing(Duration::from_millis(300));
    let guard = client.mutex("m").lock().await.unwrap();
    guard.refresh(Duration::from_secs(5)).await.unwrap();
    // Renewals are looked at too.
    let before = rig.redis.calls("evalsha");
    becomes("a renewal", async || rig.redis.calls("evalsha") > before).await;
    guard.unlock().await.unwrap();
    rig.redis.command(&["ECHO", "the end"]);
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let mut commands = 0;
    loop {
        let line = monitor.receive().unwrap().to_string();
        if line.contains("\"the end\"") {
            break;
        }
        // What a script runs inside is the server's affair; only what clients send is looked at.
        let Some((_, command)) = line
            .split_once("] ")
            .filter(|(head, _)| !head.ends_with("lua"))
        else {
            continue;
        };
        commands += 1;
        // A number that is a time within a year of now, in whatever unit, came from our clock.
        for word in command.split(|c: char| !c.is_ascii_alphanumeric()) {
            let Ok(number) = word.parse::<f64>() else {
                continue;
            };
            for unit in [1.0, 1e3, 1e6, 1e9] {
                let seconds = number / unit;
                assert!(
                    (seconds - now).abs() > 3.2e7,
                    "a time of day is sent: {command}"
                );
            }
        }
    }
    assert!(commands >= 4, "the monitor saw only {commands} commands");
}

#[tokio::test]
async fn em_mutex_02_every_waiter_is_woken_in_its_turn() {
    let rig = Rig::new();
    let holder = rig.client();
    let guard = holder.mutex("m").lock().await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..12 {
        let client = rig.client();
        tasks.push(tokio::spawn(async move {
            client.mutex("m").lock().await.map(drop).unwrap();
            // A second lock at once: the wake-up of the first must not count for it.
            client.mutex("m").lock().await.map(drop).unwrap();
        }));
        waiters(&holder.mutex("m"), number + 1).await;
    }
    drop(guard);
    for task in tasks {
        soon("every waiter gets in", task).await.unwrap();
    }
}

#[tokio::test]
async fn em_mutex_03_a_stale_unlock_leaves_the_newer_lock_of_the_same_owner() {
    let rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    let short = client.mutex("m").expire(Duration::from_millis(100));
    let stale = short.lock().await.unwrap();
    soon("it expires", stale.lost()).await;
    // The same process, client and task.
    let newer = soon("again", client.mutex("m").lock()).await.unwrap();
    assert!(!stale.unlock().await.unwrap());
    newer.check().unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    assert!(newer.unlock().await.unwrap());
    // And one that the store hears of only after the newer one was granted.
    let late = Client::connect(rig.proxied_config().lease(1).patience(30)).unwrap();
    let stale = late.mutex("m").lock().await.unwrap();
    rig.proxy.freeze();
    soon("its lease is over", stale.lost()).await;
    drop(stale);
    let newer = soon("the newer", client.mutex("m").lock()).await.unwrap();
    let before = rig.redis.calls("evalsha");
    rig.proxy.thaw();
    becomes("the stale release arrives", async || {
        rig.redis.calls("evalsha") > before
    })
    .await;
    late.mutex("m").info().await.unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    newer.refresh(LONG).await.unwrap();
    assert!(newer.unlock().await.unwrap());
}

#[tokio::test]
async fn em_mutex_04_a_key_without_ttl_does_not_make_a_waiter_spin() {
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
    // The dead one's lease ends although its keys would stay for ever.
    let guard = soon("the lease ends", client.mutex("m").lock())
        .await
        .unwrap();
    let asked = rig.redis.calls("evalsha") - before;
    assert!(asked < 30, "{asked} requests for two waits");
    assert!(guard.unlock().await.unwrap());
    assert_eq!(rig.redis.keys_without_ttl(), []);
}

#[tokio::test]
async fn em_mutex_05_a_failed_unlock_is_carried_out_when_the_store_is_back() {
    let rig = Rig::new();
    let other = rig.client();
    let client = Client::connect(rig.proxied_config().lease(LONG).patience(0.3)).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    rig.proxy.refuse();
    rig.proxy.cut();
    let error = soon("an answer", guard.unlock()).await.unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    assert!(
        other.mutex("m").try_lock().await.unwrap().is_none(),
        "nothing reached the store yet"
    );
    rig.proxy.heal();
    drop(
        soon("the release is made up for", other.mutex("m").lock())
            .await
            .unwrap(),
    );
}

#[tokio::test]
async fn em_mutex_06_flushall_wakes_the_waiters_and_tells_the_holder() {
    let rig = Rig::new();
    let lease = Duration::from_secs(3);
    let (holder, waiter) = (rig.leasing(lease), rig.leasing(lease));
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.unwrap() });
    waiters(&holder.mutex("m"), 1).await;
    rig.redis.command(&["FLUSHALL"]);
    let next = soon("the waiter asks again and gets in", waiting)
        .await
        .unwrap();
    soon("the former holder learns it", guard.lost()).await;
    assert!(!guard.unlock().await.unwrap());
    next.check().unwrap();
    assert!(next.unlock().await.unwrap());
}

#[tokio::test]
async fn em_mutex_06_a_state_lost_by_half_ends_within_a_lease() {
    let suffixes = ["", ":tickets", ":held", ":queue", ":waits"];
    for suffix in suffixes {
        let rig = Rig::new();
        let lease = Duration::from_millis(900);
        let (holder, waiter, fresh) = (rig.leasing(lease), rig.leasing(lease), rig.leasing(lease));
        let guard = holder.mutex("m").lock().await.unwrap();
        let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.map(drop) });
        waiters(&holder.mutex("m"), 1).await;
        rig.redis
            .command(&["DEL", &format!("auto_mutex:{{suite:m}}{suffix}")]);
        drop(guard);
        // The one that waited gets in or is told why not; either way nobody is stuck afterwards.
        let ended = soon(&format!("the wait ends without {suffix:?}"), waiting)
            .await
            .unwrap();
        assert!(
            matches!(ended, Ok(()) | Err(LockError::ForeignKey { .. })),
            "{suffix:?}: {ended:?}"
        );
        becomes(
            &format!("the lock works again without {suffix:?}"),
            async || {
                fresh
                    .mutex("m")
                    .block(Duration::from_millis(100))
                    .lock()
                    .await
                    .is_ok()
            },
        )
        .await;
    }
}

#[tokio::test]
async fn em_mutex_07_garbage_on_the_channel_harms_nobody() {
    let rig = Rig::new();
    let (client, waiter) = (rig.client(), rig.client());
    let guard = client.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.unwrap() });
    waiters(&client.mutex("m"), 1).await;
    let channels = rig
        .redis
        .command(&["PUBSUB", "CHANNELS", "auto_mutex:member:*"])
        .texts();
    assert_eq!(channels.len(), 2);
    let tickets = rig.redis.tickets("suite:m");
    assert_eq!(tickets.len(), 2);
    let mut garbage: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b" ".to_vec(),
        b"grant".to_vec(),
        b"grant  ".to_vec(),
        b"near".to_vec(),
        b"lost".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        b"grant x 99999999999999999999999999 -1 NaN suite:m".to_vec(),
        b"lost 00000000000000000000000000000000 suite:m".to_vec(),
        b"near 00000000000000000000000000000000 {".to_vec(),
        vec![b'x'; 1_000_000],
    ];
    for ticket in tickets {
        // Claims about tickets that exist: a grant with a counter that was never sent, a loss that is none.
        garbage.push(format!("grant {ticket} 1 999999 2000 suite:m").into_bytes());
        garbage.push(format!("lost {ticket} suite:m").into_bytes());
        garbage.push(format!("near {ticket} suite:other").into_bytes());
    }
    let mut admin = rig.redis.connect();
    for channel in &channels {
        for message in &garbage {
            admin.call(&[b"PUBLISH", channel.as_bytes(), message.as_slice()]);
        }
    }
    // Requests and messages share a connection in order, so an answer means that all of it was read.
    client
        .mutex("another")
        .lock()
        .await
        .unwrap()
        .unlock()
        .await
        .unwrap();
    guard.check().unwrap();
    assert!(!waiting.is_finished(), "a made-up grant let the waiter in");
    assert!(guard.unlock().await.unwrap());
    let guard = soon("the waiter", waiting).await.unwrap();
    assert!(guard.unlock().await.unwrap());
}

/// What somebody who knows the waiting ticket could publish: a token and a lease.
async fn forge(
    rig: &Rig,
    token: &str,
    millis: &str,
) -> (MutexGuard, JoinHandle<Result<MutexGuard, LockError>>) {
    let (client, waiter) = (rig.client(), rig.client());
    let guard = client.mutex("m").lock().await.unwrap();
    let holders = rig.redis.tickets("suite:m");
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    waiters(&client.mutex("m"), 1).await;
    let tickets = rig.redis.tickets("suite:m").into_iter();
    let channels = ["PUBSUB", "CHANNELS", "auto_mutex:member:*"];
    let channels = rig.redis.command(&channels).texts();
    for ticket in tickets.filter(|ticket| !holders.contains(ticket)) {
        for counter in 1..=3 {
            for channel in &channels {
                let message = format!("grant {ticket} {token} {counter} {millis} suite:m");
                rig.redis.command(&["PUBLISH", channel, &message]);
            }
        }
    }
    (guard, waiting)
}

#[tokio::test]
async fn em_mutex_07_a_grant_no_store_would_send_lets_nobody_in() {
    let tokens = ["1", "0", "18446744073709551615", "9007199254740993"];
    for (token, millis) in tokens
        .map(|token| (token, "2000"))
        .into_iter()
        .chain([("1900000000000000", "2001")])
    {
        let rig = Rig::new();
        let (guard, waiting) = forge(&rig, token, millis).await;
        // Requests and messages share a connection in order, so its next question is later.
        rig.client().mutex("m").info().await.unwrap();
        guard.check().unwrap();
        assert!(!waiting.is_finished(), "{token} {millis} let the waiter in");
        assert!(guard.unlock().await.unwrap());
        assert!(
            soon("its turn", waiting)
                .await
                .unwrap()
                .unwrap()
                .unlock()
                .await
                .unwrap()
        );
    }
}

#[tokio::test]
async fn em_mutex_07_a_forged_grant_is_found_out() {
    let rig = Rig::new();
    // Whoever guesses ticket, counter and time is let in on the word of it, until the claim is answered.
    let (guard, waiting) = forge(&rig, "1900000000000000", "2000").await;
    let forged = soon("the forged grant", waiting).await.unwrap().unwrap();
    soon("the claim is refused", forged.lost()).await;
    assert!(!forged.unlock().await.unwrap());
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    drop(
        soon("all is well", rig.client().mutex("m").lock())
            .await
            .unwrap(),
    );
}

#[tokio::test]
async fn em_mutex_09_colons_do_not_make_two_locks_one() {
    let rig = Rig::new();
    let one = Client::connect(config(&rig.redis.url()).namespace("a")).unwrap();
    let two = Client::connect(config(&rig.redis.url()).namespace("a:b")).unwrap();
    let guard = one.mutex("b:c").lock().await.unwrap();
    let other = two
        .mutex("c")
        .try_lock()
        .await
        .unwrap()
        .expect("another lock");
    assert_ne!(guard.name(), other.name());
    assert_eq!(rig.redis.held(), 2);
}

#[tokio::test]
async fn em_mutex_10_the_watcher_never_gives_up() {
    let rig = Rig::new();
    let (holder, waiter) = (rig.client(), rig.proxied());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn({
        let waiter = waiter.clone();
        async move { waiter.mutex("m").lock().await }
    });
    waiters(&holder.mutex("m"), 1).await;
    rig.proxy.refuse();
    rig.proxy.cut();
    let before = rig.proxy.connections();
    let rig = tokio::task::spawn_blocking(move || {
        eventually_within(Duration::from_secs(60), "more than ten attempts", || {
            rig.proxy.connections() > before + 12
        });
        rig
    })
    .await
    .unwrap();
    rig.proxy.heal();
    guard.unlock().await.unwrap();
    // Whoever waited gets it, or was told of the outage; afterwards all is well without anybody's help.
    match soon("the wait ends", waiting).await.unwrap() {
        Ok(guard) => assert!(guard.unlock().await.unwrap()),
        Err(error) => assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}"),
    }
    drop(
        soon("the client works again", waiter.mutex("m").lock())
            .await
            .unwrap(),
    );
}

#[tokio::test]
async fn em_mutex_11_a_release_during_a_reconnect_is_not_missed() {
    for round in 0..5 {
        let rig = Rig::new();
        let (holder, waiter) = (rig.client(), rig.proxied());
        let guard = holder.mutex("m").lock().await.unwrap();
        let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
        waiters(&holder.mutex("m"), 1).await;
        rig.proxy.refuse();
        rig.proxy.cut();
        if round > 0 {
            // At various moments of the reconnect.
            tokio::time::sleep(Duration::from_millis(round * 30)).await;
            rig.proxy.heal();
        }
        guard.unlock().await.unwrap();
        rig.proxy.heal();
        let guard = soon("the waiter gets in", waiting).await.unwrap().unwrap();
        assert!(guard.unlock().await.unwrap());
    }
}

#[test]
fn em_mutex_12_a_forked_child_may_neither_lock_nor_release() {
    let redis = Redis::start();
    let lines = worker::forks(env!("CARGO_BIN_EXE_test-fork"), &redis.url());
    assert_eq!(
        lines,
        [
            "child lock forked",
            "child guard lost",
            "child gone",
            "parent check true",
            "parent unlocked Ok(true)",
        ],
    );
}
