//! A server that is up and refuses: BUSY, OOM, LOADING, READONLY, NOREPLICAS, NOPERM, NOSCRIPT, too many clients.

use std::time::Duration;

use auto_mutex::{Client, LockError, SetupError};
use auto_mutex_tests::events::{LONG, becomes, eventually, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Options;

use crate::rig::{Rig, config, waiters};

fn impatient(rig: &Rig) -> Client {
    Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("1s")).unwrap()
}

#[track_caller]
fn unavailable<T: std::fmt::Debug>(result: Result<T, LockError>) -> String {
    match result {
        Err(LockError::Unavailable { source, .. }) => source.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Waits until a call fails with these words, and returns the error's text. While the server stands still, it says
/// something else.
async fn told(client: &Client, words: &[&str]) -> String {
    let mut said = String::new();
    becomes(&format!("a call fails with {words:?}"), async || {
        said = unavailable(soon("an answer", client.mutex("told").lock()).await);
        words.iter().any(|words| said.contains(words))
    })
    .await;
    said
}

/// Some calls may fail before, if the server stands still.
async fn works_again(client: &Client, name: &str) {
    becomes("it works again", async || {
        let guard = client.mutex(name).try_lock().await;
        guard.is_ok_and(|guard| guard.is_some())
    })
    .await;
}

#[tokio::test]
async fn script_flush_goes_unnoticed() {
    let rig = Rig::new();
    let (client, waiter) = (rig.client(), rig.client());
    let guard = client.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    waiters(&client.mutex("m"), 1).await;
    rig.redis.command(&["SCRIPT", "FLUSH"]);
    guard.refresh(LONG).await.unwrap();
    rig.redis.command(&["SCRIPT", "FLUSH"]);
    assert!(guard.unlock().await.unwrap());
    let guard = soon("the waiter", waiting).await.unwrap().unwrap();
    rig.redis.command(&["SCRIPT", "FLUSH"]);
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_server_busy_for_too_long_is_unavailable() {
    let _watch = real_time();
    let rig = Rig::new();
    let client = impatient(&rig);
    rig.redis.keep_busy(Duration::from_secs(600));
    unavailable(soon("an answer", client.mutex("m").lock()).await);
    rig.redis.command(&["SCRIPT", "KILL"]);
    works_again(&client, "m").await;
}

#[tokio::test]
async fn a_primary_that_misses_its_replicas_is_waited_for() {
    let _watch = real_time();
    let rig = Rig::new();
    let alone = |count: &str| {
        rig.redis
            .command(&["CONFIG", "SET", "min-replicas-to-write", count]);
    };
    let (patient, impatient) = (rig.client(), impatient(&rig));
    let held = patient.mutex("held").lock().await.unwrap();
    alone("1");
    told(&impatient, &["NOREPLICAS"]).await;
    let url = rig.redis.url();
    becomes("set-up says so", async || {
        let late = config(&url).connect_timeout("1s");
        let error = Client::connect_async(late).await.unwrap_err();
        let SetupError::Unreachable { source, .. } = &error else {
            panic!("{error:?}");
        };
        source.to_string().contains("NOREPLICAS")
            && error.to_string().starts_with("set-up is refused")
    })
    .await;
    // The replicas come late, but in time for these calls.
    let config = config(&url).connect_timeout("60s");
    let setting_up = tokio::task::spawn_blocking(move || Client::connect(config));
    let asking = tokio::spawn({
        let mutex = patient.mutex("m");
        async move { mutex.lock().await }
    });
    let releasing = tokio::spawn(held.unlock());
    let refused = rig.redis.calls("evalsha") + 10;
    becomes("all were refused", async || {
        rig.redis.calls("evalsha") > refused
    })
    .await;
    alone("0");
    assert!(soon("released", releasing).await.unwrap().unwrap());
    let guard = soon("granted", asking).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
    let client = soon("set up", setting_up).await.unwrap().unwrap();
    works_again(&client, "m").await;
}

/// What a server does while it can't serve, and how it serves again.
async fn calls_wait_until_it_serves(rig: &Rig, words: &str, refuse: impl Fn(), serve: impl Fn()) {
    let client = Client::connect(config(&rig.redis.url()).lease(LONG)).unwrap();
    let guard = client.mutex("before").lock().await.unwrap();
    assert!(guard.unlock().await.unwrap());
    assert!(client.health().is_ready());
    refuse();
    let mutex = client.mutex("m");
    let waits = tokio::spawn(async move { mutex.lock().await.map(drop) });
    becomes("it is not ready", async || !client.health().is_ready()).await;
    let health = client.health();
    let refusal = health.refusal.as_ref().expect("a reason");
    assert!(refusal.error.to_string().contains(words), "{health}");
    assert!(
        health.connected && health.to_string().contains(words),
        "{health}"
    );
    assert!(!waits.is_finished());
    serve();
    soon("the lock", waits).await.unwrap().unwrap();
    assert!(client.health().is_ready(), "{}", client.health());
}

#[tokio::test]
async fn calls_wait_for_memory() {
    let rig = Rig::new();
    let set = |limit: &str| drop(rig.redis.command(&["CONFIG", "SET", "maxmemory", limit]));
    calls_wait_until_it_serves(&rig, "OOM", || set("1"), || set("0")).await;
}

#[tokio::test]
async fn calls_wait_for_a_server_that_cannot_save() {
    let options = Options::default().line("save 3600 1");
    let rig = Rig::with(options.line("stop-writes-on-bgsave-error yes"));
    // A folder that isn't empty can't be replaced by the file.
    let folder = rig.redis.folder().join("dump.rdb");
    let save = |status: &str| {
        eventually("it has tried", || {
            let _ = rig.redis.try_command(&["BGSAVE"]);
            rig.redis.info("rdb_last_bgsave_status") == status
        });
    };
    let refuse = || {
        std::fs::create_dir_all(folder.join("full")).unwrap();
        save("err");
    };
    let serve = || {
        std::fs::remove_dir_all(&folder).unwrap();
        save("ok");
    };
    calls_wait_until_it_serves(&rig, "MISCONF", refuse, serve).await;
}

#[tokio::test]
async fn a_full_memory_ends_no_hold_and_blocks_no_release() {
    let rig = Rig::new();
    let client = impatient(&rig);
    let patient = rig.client();
    let renewed = patient.mutex("renewed").lock().await.unwrap();
    let released = patient.mutex("released").lock().await.unwrap();
    rig.redis.command(&["CONFIG", "SET", "maxmemory", "1"]);
    told(&client, &["memory"]).await;
    // Renewals and releases need no memory.
    assert!(soon("released", released.unlock()).await.unwrap());
    renewed.refresh(Duration::from_secs(60)).await.unwrap();
    rig.redis.command(&["CONFIG", "SET", "maxmemory", "0"]);
    works_again(&client, "new").await;
    assert!(renewed.unlock().await.unwrap());
}

#[tokio::test]
async fn a_full_memory_leaves_places_to_who_waits() {
    const WAITERS: usize = 50;
    let rig = Rig::new();
    let (holder, client) = (rig.client(), rig.client());
    let all = holder.semaphore("s", 60);
    let permits = all.acquire_many(60).await.unwrap();
    let semaphore = client.semaphore("s", 60);
    let waiting: Vec<_> = (0..WAITERS)
        .map(|_| {
            let semaphore = semaphore.clone();
            tokio::spawn(async move { semaphore.acquire().await })
        })
        .collect();
    becomes("all wait", async || {
        all.info()
            .await
            .is_ok_and(|info| info.waiters.len() == WAITERS)
    })
    .await;
    rig.redis.command(&["CONFIG", "SET", "maxmemory", "1"]);
    // In one request with a touch, which memory is never denied, it may get a place.
    let brief = semaphore.block(Duration::from_secs(1));
    match soon("an answer", brief.acquire()).await {
        Err(LockError::Unavailable { source, .. }) => {
            assert!(source.to_string().contains("memory"), "{source}");
        }
        Err(LockError::Timeout { .. }) => {}
        other => panic!("{other:?}"),
    }
    rig.redis.command(&["CONFIG", "SET", "maxmemory", "0"]);
    permits.release().await.unwrap();
    let granted = waiting.into_iter().map(|waiting| soon("granted", waiting));
    for permit in futures::future::join_all(granted).await {
        drop(permit.unwrap().unwrap());
    }
}

#[tokio::test]
async fn a_loading_server_is_waited_for() {
    let rig = Rig::with(
        Options::default()
            .survives_kills()
            .line("key-load-delay 400"),
    );
    let client =
        Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("60s")).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    let mut admin = rig.redis.connect();
    for number in 0..3000 {
        admin.call(&["SET", &format!("key-{number}"), "value"]);
    }
    admin.call(&["CONFIG", "SET", "aof-use-rdb-preamble", "yes"]);
    admin.call(&["BGREWRITEAOF"]);
    becomes("rewritten", async || {
        rig.redis.info("aof_rewrite_in_progress") == "0"
    })
    .await;
    rig.redis.kill9();
    rig.redis.start_loading();
    let other = soon("granted when it is loaded", client.mutex("other").lock())
        .await
        .unwrap();
    assert!(other.unlock().await.unwrap());
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    // The client knew that the server was loading, so it did not send the scripts repeatedly.
    let loads = rig.redis.calls("script|load");
    assert!(loads < 10, "the scripts were sent {loads} times");
}

#[tokio::test]
async fn too_many_clients_keep_nobody_out_for_ever() {
    let rig = Rig::new();
    let client =
        Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("60s")).unwrap();
    let mut admin = rig.redis.connect();
    admin.call(&["CONFIG", "SET", "maxclients", "1"]);
    admin.call(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    admin.call(&["CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"]);
    let asking = tokio::spawn(async move { client.mutex("m").lock().await });
    becomes("it is turned away", async || {
        let stats = admin.call(&["INFO", "stats"]);
        !stats.text().contains("rejected_connections:0")
    })
    .await;
    admin.call(&["CONFIG", "SET", "maxclients", "100"]);
    let guard = soon("let in at last", asking).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
}
