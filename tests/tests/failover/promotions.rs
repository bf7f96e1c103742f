//! A replica that replaces its primary.

use std::time::Instant;

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon, waiters};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::was_lost;
use tokio::sync::mpsc;

use crate::rig::{BRIEFLY, CLOSED, LONGER, Pair, client, closed, closed_since, config, lasting};

const EPOCH: &str = "auto_mutex:epoch";
const HAPPENED: &str = "the lock store was failed over";

fn replicated() -> Redis {
    Redis::with(Options::default().replicated())
}

/// Waits until the promoted server grants, and checks that it was closed for at least [`CLOSED`].
async fn opens(redis: &Redis, promoted: Instant) {
    let client = client(&redis.url());
    drop(soon("granted in the end", client.mutex("opens").lock()).await);
    assert!(promoted.elapsed() >= CLOSED, "{:?}", promoted.elapsed());
}

#[tokio::test]
async fn what_the_old_primary_noted_opens_nothing() {
    let _watch = real_time();
    let pair = Pair::new();
    let before = client(&pair.url());
    // Not dropped: the release must be there before the failover.
    let _ = before.mutex("m").lock().await.unwrap().unlock().await;
    pair.replica.wait_for(&pair.primary);
    assert_eq!(pair.replica.command(&["EXISTS", EPOCH]).int(), 1);
    let promoted = Instant::now();
    pair.fail_over();
    // The server is closed also for a client that was connected before.
    becomes("it is back", async || {
        before.mutex("m").is_locked().await.is_ok()
    })
    .await;
    closed_since(promoted, before.mutex("m").try_lock().await, HAPPENED);
    opens(&pair.replica, promoted).await;
}

#[tokio::test]
async fn a_connection_that_outlives_a_promotion_learns_of_it() {
    let (primary, replica) = (replicated(), replicated());
    replica.follow(&primary);
    let client = Client::connect(lasting(&primary.url())).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(guard.unlock().await.unwrap());
    // The client sends no requests while the server is a replica. (The other server is promoted first, because Redis
    // 6.2 never gets in sync if two servers are replicas of each other.)
    replica.promote();
    primary.follow(&replica);
    primary.promote();
    // The client still notices the promotion, because it checks the server's epoch from time to time.
    becomes("it is closed", async || {
        let tried = client.mutex("m").try_lock().await;
        matches!(&tried, Err(LockError::Unavailable { source, .. }) if source.to_string().contains(HAPPENED))
    })
    .await;
}

#[tokio::test]
async fn a_holder_that_the_replica_knows_keeps_its_lock() {
    let pair = Pair::new();
    let holder = Client::connect(lasting(&pair.url())).unwrap();
    let guard = holder.mutex("m").lock().await.unwrap();
    pair.replica.wait_for(&pair.primary);
    pair.fail_over();
    soon("renewed", guard.refresh(LONG)).await.unwrap();
    guard.check().unwrap();
    // While the lock is held, a call that times out can name the holder.
    let other = Client::connect(lasting(&pair.url())).unwrap();
    let late = other.mutex("m").block(BRIEFLY).lock().await;
    assert!(
        matches!(
            &late,
            Err(LockError::Timeout {
                holder: Some(_),
                ..
            })
        ),
        "{late:?}"
    );
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_holder_that_the_replica_does_not_know_is_told() {
    let pair = Pair::new();
    let holder = Client::connect(lasting(&pair.url())).unwrap();
    // The replica leaves its primary, so it does not receive the following grant.
    pair.replica.promote();
    let guard = holder.mutex("m").lock().await.unwrap();
    pair.fail_over();
    assert!(was_lost(soon("told", guard.refresh(LONG)).await));
    assert!(was_lost(guard.unlock().await));
}

#[tokio::test]
async fn who_waited_is_granted_when_it_opens() {
    let _watch = real_time();
    let pair = Pair::new();
    let client = || Client::connect(config(&pair.url()).longest_lease(LONGER)).unwrap();
    let mutex = client().mutex("m");
    let guard = mutex.lock().await.unwrap();
    let (granted, mut grants) = mpsc::unbounded_channel();
    for number in 0..3 {
        let (client, granted) = (client(), granted.clone());
        tokio::spawn(async move { granted.send(client.mutex("m").lock().await) });
        waiters(&mutex, number + 1).await;
    }
    pair.replica.wait_for(&pair.primary);
    let promoted = Instant::now();
    pair.fail_over();
    becomes("all are back", async || pair.replica.members() == 4).await;
    let mut last = guard.fencing_token();
    drop(guard);
    for _ in 0..3 {
        let guard = soon("the next one", grants.recv()).await.unwrap();
        assert!(promoted.elapsed() >= LONGER, "{:?}", promoted.elapsed());
        let token = guard.unwrap().fencing_token();
        assert!(token > last);
        last = token;
    }
}

#[tokio::test]
async fn a_grant_that_nobody_claimed_before_is_not_claimed_at_the_new_primary() {
    let _watch = real_time();
    let pair = Pair::new();
    let own = Proxy::start(pair.primary.port());
    let client = |url: &str| Client::connect(config(url).longest_lease(LONGER)).unwrap();
    let (holder, waiter) = (
        client(&pair.url()),
        client(&pair.primary.url_at(own.port())),
    );
    let mutex = holder.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    waiters(&mutex, 1).await;
    // The waiter is granted the lock, but does not receive the grant.
    own.freeze();
    let _ = guard.unlock().await;
    pair.replica.wait_for(&pair.primary);
    let promoted = Instant::now();
    pair.fail_over();
    own.redirect(pair.replica.port());
    own.cut();
    own.heal();
    drop(
        soon("granted when it opens", waiting)
            .await
            .unwrap()
            .unwrap(),
    );
    assert!(promoted.elapsed() >= LONGER, "{:?}", promoted.elapsed());
}

#[tokio::test]
async fn no_ticket_is_adopted_before_it_opens() {
    let pair = Pair::new();
    let config = || lasting(&pair.url()).store_timeout("60s");
    let client = Client::connect(config()).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    let ticket = guard.into_ticket().unwrap();
    pair.replica.wait_for(&pair.primary);
    pair.fail_over();
    let other = Client::connect(config()).unwrap();
    // Another client may have adopted the ticket already, and the replica may not have received that.
    closed(soon("an answer", other.adopt(&ticket)).await, HAPPENED);
}

#[tokio::test]
async fn a_kept_lock_is_not_entered_after_a_promotion() {
    let _watch = real_time();
    let pair = Pair::new();
    let (keeper, other) = (client(&pair.url()), client(&pair.url()));
    let mutex = keeper.mutex("m").retain("600s");
    becomes("it is kept", async || {
        drop(mutex.lock().await.unwrap());
        other.mutex("m").info().await.unwrap().kept
    })
    .await;
    pair.replica.wait_for(&pair.primary);
    let promoted = Instant::now();
    pair.fail_over();
    // Until the keeper knows of the promotion, it may enter: the new primary is closed for longer than that.
    let mut last = 0;
    while promoted.elapsed() < CLOSED
        && let Ok(Some(guard)) = mutex.try_lock().await
    {
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        drop(guard);
        tokio::task::yield_now().await;
    }
    // Either may be the first.
    let calls = [mutex, other.mutex("m")].map(|mutex| {
        tokio::spawn(async move { mutex.lock().await.map(|guard| guard.fencing_token()) })
    });
    for call in calls {
        let token = soon("granted in the end", call).await.unwrap();
        assert!(promoted.elapsed() >= CLOSED, "{:?}", promoted.elapsed());
        assert!(token.unwrap() > last);
    }
}
