//! A replica that replaces its primary.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stalls::Stalls;
use auto_mutex_tests::was_lost;
use tokio::sync::mpsc;

use crate::rig::{BRIEFLY, CLOSED, LONGEST, Pair, client, closed, closed_since, config};

const EPOCH: &str = "auto_mutex:epoch";
const HAPPENED: &str = "the lock store was failed over";

fn replicated() -> Redis {
    Redis::with(Options::default().replicated())
}

/// Waits until the promoted server grants, and checks that it was closed for at least [`CLOSED`].
async fn opens(redis: &Redis, promoted: Instant) {
    let client = client(&redis.url());
    let guard = soon("granted in the end", client.mutex("opens").lock()).await;
    assert!(guard.unwrap().unlock().await.unwrap());
    assert!(promoted.elapsed() >= CLOSED, "{:?}", promoted.elapsed());
}

#[tokio::test]
async fn a_promoted_server_is_closed_although_nobody_noted_anything() {
    let (primary, replica) = (replicated(), replicated());
    replica.follow(&primary);
    assert_eq!(replica.command(&["DBSIZE"]).int(), 0);
    let promoted = Instant::now();
    replica.promote();
    let asked = client(&replica.url()).mutex("m").try_lock().await;
    closed_since(promoted, asked, HAPPENED);
    opens(&replica, promoted).await;
}

#[tokio::test]
async fn what_the_old_primary_noted_opens_nothing() {
    let pair = Pair::new();
    let before = client(&pair.url());
    let guard = before.mutex("m").lock().await.unwrap();
    // Not dropped: the release must be there before the failover.
    assert!(guard.unlock().await.unwrap());
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
async fn the_longest_lease_of_anybody_counts() {
    let pair = Pair::new();
    let long = Client::connect(config(&pair.url()).longest_lease("8s")).unwrap();
    pair.replica.wait_for(&pair.primary);
    drop(long);
    let promoted = Instant::now();
    pair.fail_over();
    let short = client(&pair.url());
    drop(soon("granted", short.mutex("m").lock()).await.unwrap());
    let least = CLOSED - LONGEST + Duration::from_secs(8);
    assert!(promoted.elapsed() >= least, "{:?}", promoted.elapsed());
}

#[tokio::test]
async fn a_server_that_is_promoted_twice_is_closed_twice() {
    let (one, other) = (replicated(), replicated());
    other.follow(&one);
    for _ in 0..2 {
        let promoted = Instant::now();
        other.promote();
        let asked = client(&other.url()).mutex("m").try_lock().await;
        closed_since(promoted, asked, HAPPENED);
        opens(&other, promoted).await;
        other.follow(&one);
    }
}

#[tokio::test]
async fn without_its_note_a_promoted_server_is_not_taken_for_a_fresh_one() {
    let (primary, replica) = (replicated(), replicated());
    replica.follow(&primary);
    replica.promote();
    opens(&replica, Instant::now() - CLOSED).await;
    let guard = soon("open", client(&replica.url()).mutex("m").lock()).await;
    // A drop would release in the background, and a call that finds the lock held is not told that the server is
    // closed.
    assert!(guard.unwrap().unlock().await.unwrap());
    replica.command(&["DEL", EPOCH]);
    let longest = Client::connect(config(&replica.url()).longest_lease("30s")).unwrap();
    closed(longest.mutex("m").try_lock().await, HAPPENED);
    // A server that has always been a primary needs no note.
    let _there = client(&primary.url());
    primary.command(&["DEL", EPOCH]);
    let guard = client(&primary.url()).mutex("m").try_lock().await;
    assert!(guard.unwrap().is_some());
}

#[tokio::test]
async fn a_connection_that_outlives_a_promotion_learns_of_it() {
    let (primary, replica) = (replicated(), replicated());
    replica.follow(&primary);
    let client = Client::connect(config(&primary.url()).longest_lease("30s")).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(guard.unlock().await.unwrap());
    // The client sends no requests while the server is a replica. (The other server is promoted first, because Redis 6.2 never
    // gets in sync if two servers are replicas of each other.)
    replica.promote();
    primary.follow(&replica);
    primary.promote();
    // The client still notices the promotion, because it checks the server's term from time to time.
    becomes("it is closed", async || {
        let tried = client.mutex("m").try_lock().await;
        matches!(&tried, Err(LockError::Unavailable { source, .. }) if source.to_string().contains(HAPPENED))
    })
    .await;
}

#[tokio::test]
async fn who_comes_later_does_not_begin_anew() {
    let (primary, replica) = (replicated(), replicated());
    replica.follow(&primary);
    replica.promote();
    let first = Client::connect(config(&replica.url()).longest_lease("30s")).unwrap();
    let since = replica.command(&["HGET", EPOCH, "since"]);
    let second = client(&replica.url());
    assert_eq!(replica.command(&["HGET", EPOCH, "since"]), since);
    // The second client's shorter `longest_lease` does not open the server earlier.
    tokio::time::sleep(CLOSED + Duration::from_secs(2)).await;
    closed(second.mutex("m").try_lock().await, HAPPENED);
    closed(first.mutex("m").try_lock().await, HAPPENED);
}

#[tokio::test]
async fn a_holder_that_the_replica_knows_keeps_its_lock() {
    let pair = Pair::new();
    let holder = client(&pair.url());
    let mutex = holder.mutex("m");
    let guard = mutex.lock().await.unwrap();
    pair.replica.wait_for(&pair.primary);
    pair.fail_over();
    becomes("it is back", async || mutex.is_locked().await.is_ok()).await;
    // Long enough for several renewals of the lease.
    tokio::time::sleep(LONGEST * 2).await;
    guard.check().unwrap();
    // While the lock is held, a call that times out can name the holder.
    let other = client(&pair.url());
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
    drop(soon("granted", other.mutex("m").lock()).await.unwrap());
}

#[tokio::test]
async fn a_holder_that_the_replica_does_not_know_is_told() {
    let pair = Pair::new();
    let leasing = config(&pair.url()).longest_lease(LONG).lease(LONG);
    let holder = Client::connect(leasing).unwrap();
    // The replica leaves its primary, so it does not receive the following grant.
    pair.replica.promote();
    let guard = holder.mutex("m").lock().await.unwrap();
    pair.fail_over();
    let told = tokio::time::timeout(LONG / 3, guard.lost()).await;
    assert!(told.is_ok(), "not told within a third of its lease");
    assert!(was_lost(guard.unlock().await));
}

#[tokio::test]
async fn who_waited_is_granted_when_it_opens() {
    let pair = Pair::new();
    let holder = client(&pair.url());
    let mutex = holder.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let (granted, mut grants) = mpsc::unbounded_channel();
    for number in 0..3 {
        let (client, granted) = (client(&pair.url()), granted.clone());
        tokio::spawn(async move { granted.send((number, client.mutex("m").lock().await)) });
        becomes("it waits", async || {
            mutex.info().await.unwrap().waiters.len() == number + 1
        })
        .await;
    }
    pair.replica.wait_for(&pair.primary);
    let (promoted, stalls) = (Instant::now(), Stalls::watch());
    pair.fail_over();
    becomes("all are back", async || pair.replica.members() == 4).await;
    let mut last = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    let mut order = Vec::new();
    for _ in 0..3 {
        let (number, guard) = soon("the next one", grants.recv()).await.unwrap();
        let guard = guard.unwrap();
        assert!(promoted.elapsed() >= CLOSED, "{:?}", promoted.elapsed());
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        order.push(number);
        assert!(guard.unlock().await.unwrap());
    }
    // If the machine stalled, a waiter may have been passed over.
    if stalls.within(promoted.elapsed()).is_zero() {
        assert_eq!(order, [0, 1, 2]);
    }
}

#[tokio::test]
async fn a_grant_that_nobody_claimed_before_is_not_claimed_at_the_new_primary() {
    let pair = Pair::new();
    let own = Proxy::start(pair.primary.port());
    let (holder, waiter) = (
        client(&pair.url()),
        client(&pair.primary.url_at(own.port())),
    );
    let mutex = holder.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    becomes("it waits", async || {
        mutex.info().await.unwrap().waiters.len() == 1
    })
    .await;
    // The waiter is granted the lock, but does not receive the grant.
    own.freeze();
    assert!(guard.unlock().await.unwrap());
    pair.replica.wait_for(&pair.primary);
    let promoted = Instant::now();
    pair.fail_over();
    own.redirect(pair.replica.port());
    own.cut();
    own.heal();
    let guard = soon("granted when it opens", waiting).await.unwrap();
    assert!(promoted.elapsed() >= CLOSED, "{:?}", promoted.elapsed());
    assert!(guard.unwrap().unlock().await.unwrap());
}

#[tokio::test]
async fn no_ticket_is_adopted_before_it_opens() {
    let pair = Pair::new();
    let config = || {
        config(&pair.url())
            .longest_lease("30s")
            .lease("5s")
            .store_timeout("60s")
    };
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
    let pair = Pair::new();
    let (keeper, other) = (client(&pair.url()), client(&pair.url()));
    let mutex = keeper.mutex("m").retain("600s");
    drop(mutex.lock().await.unwrap());
    becomes("it is kept", async || {
        other.mutex("m").info().await.unwrap().kept
    })
    .await;
    pair.replica.wait_for(&pair.primary);
    let (promoted, stalls) = (Instant::now(), Stalls::watch());
    pair.fail_over();
    // Until the keeper knows of the promotion, it may enter: the new primary is closed for longer than that.
    let (mut last, mut tried) = (0, mutex.try_lock().await);
    while let Ok(Some(guard)) = tried {
        let is_closed = promoted.elapsed() < CLOSED;
        let stalled = !stalls.within(promoted.elapsed()).is_zero();
        assert!(guard.fencing_token() > last && (is_closed || stalled));
        last = guard.fencing_token();
        drop(guard);
        tokio::task::yield_now().await;
        tried = mutex.try_lock().await;
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
