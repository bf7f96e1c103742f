//! Point 7: forged and broken messages on a channel.

use auto_mutex_tests::events::soon;

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
        // Messages about existing tickets: a grant with a counter that was never sent, a loss that did not happen, and
        // a message with another name.
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
