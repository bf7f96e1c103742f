//! Keys that are foreign, damaged or gone: they cause an error, never a panic, a busy loop or an overwrite.

use std::time::Duration;

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, config, waiters};

const STATE: &str = "auto_mutex:{suite:m}";

/// Checks that every kind of request fails with `ForeignKey`, and that the key is unchanged.
async fn refused(rig: &Rig, client: &Client, key: &str) {
    let dump = rig.redis.connect().call(&["DUMP", key]);
    let foreign = |error: LockError| {
        assert!(
            matches!(&error, LockError::ForeignKey { name, .. } if name == "suite:m"),
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
    let kinds: [&[&str]; 5] = [
        &["HSET", STATE, "v", "1"],
        &["SADD", STATE, "member"],
        &["RPUSH", STATE, "item"],
        &["XADD", STATE, "*", "a", "b"],
        &["ZADD", STATE, "1", "member"],
    ];
    for kind in kinds {
        rig.redis.command(kind);
        refused(&rig, &client, STATE).await;
        rig.redis.command(&["DEL", STATE]);
    }
    // Without the foreign key, the lock works again.
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
async fn foreign_values_are_refused_and_left_alone() {
    let rig = Rig::new();
    let client = rig.client();
    for value in [
        "",
        "1",
        "value",
        "1 ",
        "1 i",
        "1 i x",
        "1 i 5 ",
        "1 i -5",
        "1 s 1 2 3",
        "1 f 1 2 3",
        "1 f x x x x x x",
        "1 z 1",
        "2 i 5",
        "10 i 5",
        " 1 i 5",
        "1 i 5\n",
        "1 i 99999999999999999999999",
        "\0",
    ] {
        rig.redis.command(&["SET", STATE, value]);
        refused(&rig, &client, STATE).await;
        assert_eq!(rig.redis.command(&["GET", STATE]).text(), value);
        assert_eq!(
            rig.redis.command(&["PTTL", STATE]).int(),
            -1,
            "not even its TTL"
        );
        rig.redis.command(&["DEL", STATE]);
    }
}

#[tokio::test]
async fn a_foreign_key_beside_ours_is_refused_by_those_who_need_it_and_left_alone() {
    // The number of holders that fit into the first key.
    const MANY: u32 = 24;
    for suffix in [":tickets", ":held", ":tokens", ":queue", ":waits", ":gone"] {
        let rig = Rig::new();
        let (holder, client) = (rig.client(), rig.client());
        let key = format!("auto_mutex:{{suite:s}}{suffix}");
        let semaphore = holder.semaphore("s", 2 * MANY);
        let mut permits = Vec::new();
        for _ in 0..MANY {
            permits.push(semaphore.acquire().await.unwrap());
        }
        rig.redis.command(&["SET", &key, "mine"]);
        let another = client.semaphore("s", 2 * MANY);
        match soon("an answer", another.acquire()).await {
            Err(LockError::ForeignKey { .. }) => {}
            // These keys are not needed for the request.
            Ok(_) if [":waits", ":gone"].contains(&suffix) => {}
            other => panic!("{suffix}: {other:?}"),
        }
        assert_eq!(rig.redis.command(&["GET", &key]).text(), "mine");
        // The holders can still release.
        for permit in permits {
            soon("released", permit.release()).await.unwrap();
        }
        rig.redis.command(&["DEL", &key]);
        drop(soon("all is well again", another.acquire()).await.unwrap());
    }
}

/// Damages the state of a lock with a holder and a waiter. Later requests must be answered, and the lock must work
/// again without the damaged keys.
async fn damaged(what: &str, damage: impl Fn(&Rig)) {
    let rig = Rig::new();
    let (holder, waiter, client) = (rig.client(), rig.client(), rig.client());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.map(drop) });
    waiters(&holder.mutex("m"), 1).await;
    damage(&rig);
    let mutex = client.mutex("m").block(Duration::from_millis(300));
    for _ in 0..2 {
        match soon(&format!("an answer after {what}"), mutex.lock()).await {
            Ok(guard) => drop(guard),
            Err(
                LockError::ForeignKey { .. }
                | LockError::Timeout { .. }
                | LockError::PermitsMismatch { .. }
                | LockError::WrongKind { .. },
            ) => {}
            Err(error) => panic!("{what}: {error:?}"),
        }
        let _ = soon(&format!("info after {what}"), mutex.info()).await;
    }
    drop(guard);
    let lock = soon("the client lives on", client.mutex("another").lock()).await;
    drop(lock.unwrap());
    for key in rig.redis.keys() {
        rig.redis.command(&["DEL", &key.name]);
    }
    let ended = soon(&format!("the waiter's end after {what}"), waiting)
        .await
        .unwrap();
    assert!(
        matches!(
            ended,
            Ok(()) | Err(LockError::ForeignKey { .. } | LockError::WrongKind { .. })
        ),
        "{what}: {ended:?}"
    );
    becomes("the lock works again", async || mutex.lock().await.is_ok()).await;
}

#[tokio::test]
async fn damaged_sets_are_an_error_not_a_hang() {
    for (suffix, score) in [
        (":held", "1e300"),
        (":held", "inf"),
        (":held", "-inf"),
        (":held", "9999999999999999"),
        (":queue", "0"),
        (":queue", "-1"),
        (":queue", "inf"),
        (":tokens", "1e300"),
        (":waits", "1e300"),
        (":waits", "1"),
        (":gone", "1"),
    ] {
        let key = format!("{STATE}{suffix}");
        damaged(&format!("{suffix} {score}"), |rig| {
            rig.redis.command(&["ZADD", &key, score, "nobody"]);
        })
        .await;
    }
}

#[tokio::test]
async fn damaged_records_are_an_error_not_a_hang() {
    for record in [
        "",
        "x",
        "1 2 3",
        "\u{ff}\u{ff}",
        "a b c d e f g h i j k l",
        "1 99999999999999999999 1 1 1 1 1 1 0 m h",
    ] {
        damaged(&format!("record {record:?}"), |rig| {
            for ticket in rig.redis.tickets("suite:m") {
                rig.redis
                    .command(&["HSET", &format!("{STATE}:tickets"), &ticket, record]);
            }
        })
        .await;
    }
}

#[tokio::test]
async fn damaged_states_are_an_error_not_a_hang() {
    for state in [
        "1 f 1 0 0 1 0 0",
        "1 f 1 1 0 99999999999999999999 1 0",
        "1 f 1 99 9 1 98 0",
    ] {
        damaged(state, |rig| {
            rig.redis.command(&["SET", STATE, state, "KEEPTTL"]);
        })
        .await;
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
    assert!(was_lost(guard.unlock().await));
    drop(soon("free", other.mutex("m").lock()).await.unwrap());
}

#[tokio::test]
async fn an_existing_lock_taken_over_by_somebody_else_is_lost() {
    let rig = Rig::new();
    let client = rig.leasing(Duration::from_secs(3));
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis.command(&["DEL", STATE]);
    rig.redis.command(&["SET", STATE, "mine"]);
    soon("the holder notices", guard.lost()).await;
    drop(guard);
    let error = soon("an answer", client.mutex("m").lock())
        .await
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, LockError::ForeignKey { .. }), "{error:?}");
    assert_eq!(rig.redis.command(&["GET", STATE]).text(), "mine");
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
    rig.redis.command(&["SET", STATE, "mine"]);
    let error = soon("an answer", waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, LockError::ForeignKey { .. }), "{error:?}");
}
