//! Point 7: forged and broken messages on a channel.

use auto_mutex::{LockError, MutexGuard};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::was_lost;
use tokio::task::JoinHandle;

use crate::rig::{Rig, waiters};

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
        // Messages about existing tickets: a grant with a counter that was never sent, a loss that did not happen, and a message
        // with another name.
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
    // Replies and messages share a connection in order, so an answer means that the client has read all messages.
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

/// Takes a lock, starts a waiter, and publishes forged grants for the waiter's ticket, with this token and lease. Returns the
/// guard, the waiter, and the ticket of the guard.
async fn forge(
    rig: &Rig,
    token: &str,
    millis: &str,
) -> (
    MutexGuard,
    JoinHandle<Result<MutexGuard, LockError>>,
    String,
) {
    let (client, waiter) = (rig.client(), rig.client());
    let guard = client.mutex("m").lock().await.unwrap();
    let holder = rig.redis.tickets("suite:m").remove(0);
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    waiters(&client.mutex("m"), 1).await;
    publish(rig, &holder, token, millis);
    (guard, waiting, holder)
}

/// Publishes to each member a grant of each ticket except the holder's.
fn publish(rig: &Rig, holder: &str, token: &str, millis: &str) {
    let channels = ["PUBSUB", "CHANNELS", "auto_mutex:member:*"];
    let channels = rig.redis.command(&channels).texts();
    let tickets = rig.redis.tickets("suite:m").into_iter();
    for ticket in tickets.filter(|ticket| ticket != holder) {
        for counter in 1..=9 {
            for channel in &channels {
                let message = format!("grant {ticket} {token} {counter} {millis} suite:m");
                rig.redis.command(&["PUBLISH", channel, &message]);
            }
        }
    }
}

#[tokio::test]
async fn em_mutex_07_a_forged_grant_is_found_out() {
    let rig = Rig::new();
    // If an attacker guesses ticket, counter and time, the waiter enters its body until its claim is answered.
    let (guard, waiting, holder) = forge(&rig, "1900000000000000", "2000").await;
    becomes("it is let in", async || {
        // The lease counts from the request with the guessed counter, which may be too long ago.
        publish(&rig, &holder, "1900000000000000", "2000");
        waiting.is_finished()
    })
    .await;
    match waiting.await.unwrap() {
        Ok(forged) => {
            soon("the claim is refused", forged.lost()).await;
            assert!(was_lost(forged.unlock().await));
        }
        // The claims were refused each time, before the waiter was polled.
        Err(error) => assert!(matches!(error, LockError::Lost { .. }), "{error:?}"),
    }
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    drop(
        soon("all is well", rig.client().mutex("m").lock())
            .await
            .unwrap(),
    );
}
