//! Points 7 and 12: signalled tokens, and waiters that share a connection.

use auto_mutex_tests::events::soon;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn semaphore_07_a_signal_adds_exactly_the_token_it_was_given() {
    let rig = Rig::new();
    let semaphore = rig.client().semaphore("s", 1);
    // A release makes no token, however often it happens.
    for _ in 0..3 {
        let permit = semaphore.acquire().await.unwrap();
        assert_eq!(
            (permit.token(), semaphore.available().await.unwrap()),
            (None, 0)
        );
        assert_eq!(permit.release().await.unwrap(), 1);
    }
    // Each signalled token is delivered once, and equal tokens are counted separately.
    let permit = semaphore.acquire().await.unwrap();
    for (token, available) in [("1", 1), ("1", 2), ("", 3), ("\0 ü\r\n", 4)] {
        semaphore.signal(token).await.unwrap();
        assert_eq!(semaphore.available().await.unwrap(), available);
    }
    for (token, left) in [("1", 3), ("1", 2), ("", 1), ("\0 ü\r\n", 0)] {
        let taken = soon("a token", semaphore.acquire()).await.unwrap();
        assert_eq!(taken.token(), Some(token));
        assert_eq!(taken.release().await.unwrap(), left, "consumed");
    }
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert_eq!(permit.release().await.unwrap(), 1);
}

#[tokio::test]
async fn semaphore_07_a_signal_whose_reply_is_lost_is_not_added_twice() {
    let rig = Rig::new();
    let (producer, consumer) = (rig.proxied(), rig.client());
    let (producer, consumer) = (producer.semaphore("jobs", 0), consumer.semaphore("jobs", 0));
    for round in 0..8 {
        match round % 2 {
            0 => rig.proxy.lose_reply_after(round),
            _ => rig.proxy.lose_request(),
        }
        soon("signalled", producer.signal(round.to_string()))
            .await
            .unwrap();
        assert_eq!(consumer.available().await.unwrap(), round as u32 + 1);
    }
    for round in 0..8 {
        let job = soon("a job", consumer.acquire()).await.unwrap();
        assert_eq!(job.token(), Some(round.to_string().as_str()));
        job.release().await.unwrap();
    }
    assert!(consumer.try_acquire().await.unwrap().is_none());
}

#[tokio::test]
async fn semaphore_12_two_waiters_of_one_connection_both_get_in() {
    let rig = Rig::new();
    let (holder, client) = (rig.client(), rig.client());
    let permit = holder.semaphore("s", 1).acquire().await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let client = client.clone();
        waiting.push(tokio::spawn(async move {
            let permit = client.semaphore("s", 1).acquire().await?;
            permit.release().await
        }));
    }
    let consumer = tokio::spawn({
        let client = client.clone();
        async move { client.semaphore("jobs", 0).acquire().await }
    });
    waiters(&holder.mutex("s"), 1).await;
    waiters(&holder.mutex("jobs"), 1).await;
    assert_eq!(rig.redis.members(), 2);
    // The connection is not blocked: one task can wait for a token that another task of the same client signals.
    soon("a signal", client.semaphore("jobs", 0).signal("job"))
        .await
        .unwrap();
    let job = soon("the job", consumer).await.unwrap().unwrap();
    assert_eq!(job.token(), Some("job"));
    permit.release().await.unwrap();
    for waiter in waiting {
        soon("both get in", waiter).await.unwrap().unwrap();
    }
}
