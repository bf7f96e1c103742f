//! Points 7 and 12: signalled tokens, and waiters that share a connection.

use auto_mutex_tests::events::soon;

use crate::rig::{Rig, waiters};

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
