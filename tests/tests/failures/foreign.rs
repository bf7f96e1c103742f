//! Keys that are not ours, damaged, or gone: an error, never a panic, a spin or an overwrite.

use std::time::Duration;

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon};

use crate::rig::{Rig, config, waiters};

const HASH: &str = "auto_mutex:{suite:m}";

/// All ways to ask must say `ForeignKey`, and leave the key alone.
async fn refused(rig: &Rig, client: &Client, key: &str) {
    let dump = rig.redis.connect().call(&["DUMP", key]);
    let foreign = |error: LockError| {
        assert!(
            matches!(&error, LockError::ForeignKey { name } if name == "suite:m"),
            "{key}: {error:?}"
        );
    };
    let mutex = client.mutex("m");
    foreign(soon("lock", mutex.lock()).await.map(drop).unwrap_err());
    foreign(
        soon("try_lock", mutex.try_lock())
            .await
            .map(drop)
            .unwrap_err(),
    );
    foreign(soon("info", mutex.info()).await.map(drop).unwrap_err());
    foreign(
        soon("force_unlock", mutex.force_unlock())
            .await
            .map(drop)
            .unwrap_err(),
    );
    assert_eq!(
        rig.redis.connect().call(&["DUMP", key]),
        dump,
        "{key} was changed"
    );
}

#[tokio::test]
async fn wrong_types_are_refused_and_left_alone() {
    let rig = Rig::new();
    let client = rig.client();
    let kinds: [&[&str]; 4] = [
        &["SET", "KEY", "value"],
        &["SADD", "KEY", "member"],
        &["RPUSH", "KEY", "item"],
        &["XADD", "KEY", "*", "a", "b"],
    ];
    for suffix in ["", ":held", ":queue", ":quiet", ":waits", ":gone"] {
        let key = format!("{HASH}{suffix}");
        for kind in kinds {
            let command: Vec<&str> = kind
                .iter()
                .map(|&word| if word == "KEY" { &key } else { word })
                .collect();
            rig.redis.command(&command);
            refused(&rig, &client, &key).await;
            rig.redis.command(&["DEL", &key]);
        }
    }
    // With the foreign key gone, all is well.
    client
        .mutex("m")
        .lock()
        .await
        .unwrap()
        .unlock()
        .await
        .unwrap();
}

#[tokio::test]
async fn foreign_hashes_are_refused_and_left_alone() {
    let rig = Rig::new();
    let client = rig.client();
    let hashes: [&[&str]; 4] = [
        &["HSET", HASH, "owner", "somebody"],
        &["HSET", HASH, "v", "2"],
        &["HSET", HASH, "v", ""],
        &["HSET", HASH, "v", "one", "tok", "5"],
    ];
    for hash in hashes {
        rig.redis.command(hash);
        refused(&rig, &client, HASH).await;
        assert_eq!(
            rig.redis.command(&["PTTL", HASH]).int(),
            -1,
            "not even its TTL"
        );
        rig.redis.command(&["DEL", HASH]);
    }
}

#[tokio::test]
async fn damaged_state_is_an_error_not_a_hang() {
    let damages: [&[&str]; 7] = [
        &["HSET", HASH, "tok", "many"],
        &["HSET", HASH, "clk", "-"],
        &["HSET", HASH, "cap", "x"],
        &["HSET", HASH, "seq", "x"],
        &["ZADD", "auto_mutex:{suite:m}:held", "1e300", "nobody"],
        &["ZADD", "auto_mutex:{suite:m}:queue", "0", "nobody"],
        &["ZADD", "auto_mutex:{suite:m}:waits", "1e300", "nobody"],
    ];
    for damage in damages {
        let rig = Rig::new();
        let (holder, client) = (rig.client(), rig.client());
        let guard = holder.mutex("m").lock().await.unwrap();
        rig.redis.command(damage);
        drop(guard);
        let mutex = client.mutex("m").block(Duration::from_millis(300));
        // It may be healed, waited out or refused, but it is answered, every time.
        for _ in 0..3 {
            match soon(&format!("an answer after {damage:?}"), mutex.lock()).await {
                Ok(guard) => drop(guard),
                Err(LockError::ForeignKey { .. } | LockError::Timeout { .. }) => {}
                Err(error) => panic!("{damage:?}: {error:?}"),
            }
        }
        assert!(
            client.mutex("another").lock().await.is_ok(),
            "the client lives on"
        );
    }
}

#[tokio::test]
async fn damaged_records_of_a_holder_are_an_error_not_a_hang() {
    let rig = Rig::new();
    let lease = Duration::from_millis(900);
    let (holder, client) = (rig.leasing(lease), rig.leasing(lease));
    for record in ["", "x", "1 2 3", "\u{ff}\u{ff}", "a b c d e f g h i j k l"] {
        let guard = holder.mutex("m").lock().await.unwrap();
        let ticket = rig
            .redis
            .command(&["ZRANGE", &format!("{HASH}:held"), "0", "0"])
            .texts();
        rig.redis
            .command(&["HSET", HASH, &format!("t:{}", ticket[0]), record]);
        let mutex = client.mutex("m").block(Duration::from_millis(100));
        match soon("an answer", mutex.lock()).await {
            Err(LockError::ForeignKey { .. } | LockError::Timeout { .. }) => {}
            other => panic!("{record:?}: {other:?}"),
        }
        drop(guard);
        let keys: Vec<String> = rig.redis.keys().into_iter().map(|key| key.name).collect();
        let mut delete = vec!["DEL"];
        delete.extend(keys.iter().map(String::as_str));
        rig.redis.command(&delete);
        becomes("the lock works again", async || mutex.lock().await.is_ok()).await;
        becomes("it is free", async || rig.redis.held() == 0).await;
    }
}

#[tokio::test]
async fn a_holder_learns_that_its_key_was_evicted() {
    let rig = Rig::new();
    let lease = Duration::from_secs(3);
    let (holder, other) = (rig.leasing(lease), rig.leasing(lease));
    let guard = holder.mutex("m").lock().await.unwrap();
    for key in rig.redis.keys() {
        rig.redis.command(&["DEL", &key.name]);
    }
    soon("the holder learns it by its next renewal", guard.lost()).await;
    assert!(!guard.unlock().await.unwrap());
    drop(soon("free", other.mutex("m").lock()).await.unwrap());
}

#[tokio::test]
async fn an_existing_lock_taken_over_by_somebody_else_is_lost() {
    let rig = Rig::new();
    let client = rig.leasing(Duration::from_secs(3));
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis.command(&["DEL", HASH]);
    rig.redis.command(&["SET", HASH, "mine"]);
    soon("the holder notices", guard.lost()).await;
    drop(guard);
    let error = soon("an answer", client.mutex("m").lock())
        .await
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, LockError::ForeignKey { .. }), "{error:?}");
    assert_eq!(rig.redis.command(&["GET", HASH]).text(), "mine");
}

#[tokio::test]
async fn a_waiter_is_told_when_the_key_becomes_foreign() {
    let rig = Rig::new();
    let (holder, client) = (
        rig.client(),
        Client::connect(config(&rig.redis.url()).lease(LONG)).unwrap(),
    );
    let _guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { client.mutex("m").lock().await.map(drop) });
    waiters(&holder.mutex("m"), 1).await;
    rig.redis.command(&["SET", HASH, "mine"]);
    let error = soon("an answer", waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, LockError::ForeignKey { .. }), "{error:?}");
}
