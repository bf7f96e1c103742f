//! Keys that are foreign, damaged or gone: they cause an error, never a panic, a busy loop or an overwrite.

use std::time::Duration;

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::real_time::real_time;

use crate::rig::{Rig, waiters};

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
async fn foreign_values_are_refused_and_left_alone() {
    let rig = Rig::new();
    let client = rig.client();
    for value in ["", "value", "3 i -5", "3 f x x x x x x", "4 i 5"] {
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
async fn damaged_keys_are_an_error_not_a_hang() {
    for (suffix, score) in [
        (":held", "inf"),
        (":queue", "0"),
        (":tokens", "1e300"),
        (":waits", "1"),
        (":gone", "1"),
    ] {
        let key = format!("{STATE}{suffix}");
        damaged(&key, |rig| {
            rig.redis.command(&["ZADD", &key, score, "nobody"]);
        })
        .await;
    }
    for record in ["", "1 2 3", "a b c d e f g h i j k l"] {
        damaged(&format!("record {record:?}"), |rig| {
            for ticket in rig.redis.tickets("suite:m") {
                let key = format!("{STATE}:tickets");
                let pairs = ticket.as_bytes().chunks(2).map(String::from_utf8_lossy);
                let field = pairs.map(|pair| u8::from_str_radix(&pair, 16).unwrap());
                let field: Vec<u8> = field.collect();
                let words: [&[u8]; 4] = [b"HSET", key.as_bytes(), &field, record.as_bytes()];
                rig.redis.connect().call(&words);
            }
        })
        .await;
    }
    for state in ["3 f 1 1 0 99999999999999999999 1 0", "3 f 1 99 9 1 98 0"] {
        damaged(state, |rig| {
            rig.redis.command(&["SET", STATE, state, "KEEPTTL"]);
        })
        .await;
    }
}

#[tokio::test]
async fn an_existing_lock_taken_over_by_somebody_else_is_lost() {
    let _watch = real_time();
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
    let (holder, client) = (rig.client(), rig.client());
    let _guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { client.mutex("m").lock().await.map(drop) });
    waiters(&holder.mutex("m"), 1).await;
    rig.redis.command(&["SET", STATE, "mine"]);
    let error = soon("an answer", waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, LockError::ForeignKey { .. }), "{error:?}");
}
