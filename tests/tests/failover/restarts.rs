//! A server that is restarted, with the restart guard and without.

use std::time::{Duration, Instant};

use auto_mutex::{Client, Config, LockError, auto_mutex};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stalls::Stalls;
use tokio::sync::mpsc;

use crate::rig::{BRIEFLY, CLOSED, LONGEST, closed, closed_since, config};

fn guarded(redis: &Redis) -> Client {
    Client::connect(
        config(&redis.url())
            .restart_guard(true)
            .store_timeout("60s"),
    )
    .expect("a client")
}

/// Waits until a new replica has its data on disk, so that they survive a restart.
async fn is_on_disk(replica: &Redis) {
    becomes("it is on disk", async || {
        replica.info("aof_rewrite_in_progress") == "0"
    })
    .await;
}

#[tokio::test]
async fn nothing_is_granted_until_the_old_leases_have_ended() {
    let redis = Redis::with(Options::default().replicated());
    let (holder, other) = (guarded(&redis), guarded(&redis));
    let guard = holder.mutex("m").lock().await.unwrap();
    let token = guard.fencing_token();
    let began = Instant::now();
    redis.restart();
    soon("the holder learns it", guard.lost()).await;
    let next = soon("granted in the end", other.mutex("m").lock())
        .await
        .unwrap();
    assert!(began.elapsed() >= CLOSED, "{:?}", began.elapsed());
    assert!(next.fencing_token() > token);
}

#[tokio::test]
async fn with_its_data_the_queue_goes_on_in_order() {
    let redis = Redis::with(Options::default().replicated().survives_kills());
    // The lease outlasts a slow restart.
    let guarded = || {
        let config = config(&redis.url()).longest_lease("10s").lease("10s");
        Client::connect(config.restart_guard(true).store_timeout("60s")).expect("a client")
    };
    let holder = guarded();
    let mutex = holder.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let (granted, mut grants) = mpsc::unbounded_channel();
    for number in 0..3 {
        let (client, granted) = (guarded(), granted.clone());
        tokio::spawn(async move { granted.send((number, client.mutex("m").lock().await)) });
        becomes("it waits", async || {
            mutex.info().await.unwrap().waiters.len() == number + 1
        })
        .await;
    }
    let (began, stalls) = (Instant::now(), Stalls::watch());
    redis.restart();
    becomes("all are back", async || redis.members() == 4).await;
    guard.check().unwrap();
    let mut last = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    let mut order = Vec::new();
    for _ in 0..3 {
        let (number, guard) = soon("the next one", grants.recv()).await.unwrap();
        let guard = guard.unwrap();
        assert!(began.elapsed() >= CLOSED, "{:?}", began.elapsed());
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        order.push(number);
        assert!(guard.unlock().await.unwrap());
    }
    // If the machine stalled, a waiter may have been passed over.
    if stalls.within(began.elapsed()).is_zero() {
        assert_eq!(order, [0, 1, 2]);
    }
}

#[tokio::test]
async fn without_the_guard_it_grants_at_once() {
    let redis = Redis::start();
    let config = || {
        Config::new(redis.url())
            .unwrap()
            .lease(LONG)
            .store_timeout("60s")
    };
    let client = Client::connect(config()).unwrap();
    let _guard = client.mutex("m").lock().await.unwrap();
    redis.restart();
    let other = Client::connect(config()).unwrap();
    // The lock is granted long before the end of the longest lease.
    drop(soon("granted", other.mutex("m").lock()).await.unwrap());
}

#[tokio::test]
async fn who_gives_up_is_told_why() {
    let redis = Redis::start();
    let config = config(&redis.url())
        .restart_guard(true)
        .longest_lease("30s");
    let client = Client::connect(config.lease(LONG)).unwrap();
    let mutex = client.mutex("m");
    let happened = "the lock store was restarted";
    closed(mutex.try_lock().await, happened);
    closed(mutex.clone().block(Duration::ZERO).lock().await, happened);
    closed(mutex.clone().block(BRIEFLY).lock().await, happened);
    let polling = mutex.clone().retries(2, Duration::from_millis(5));
    closed(polling.lock().await, happened);
    closed(client.semaphore("s", 3).try_acquire().await, happened);
    closed(mutex.blocking_try_lock(), happened);
    // Requests that grant nothing are answered.
    assert!(!mutex.is_locked().await.unwrap());
    assert!(!mutex.force_unlock().await.unwrap());
}

#[tokio::test]
async fn several_names_wait_like_one() {
    let redis = Redis::start();
    let began = Instant::now();
    let client = guarded(&redis);
    let happened = "the lock store was restarted";
    let multi = client.multi(["a", "b"]);
    // `try_lock` fails at once, and a call with a short `block` fails at the end of this time.
    closed_since(began, multi.try_lock().await, happened);
    closed_since(began, multi.clone().block(BRIEFLY).lock().await, happened);
    let polling = multi.clone().retries(2, Duration::from_millis(5));
    closed_since(began, polling.lock().await, happened);
    let briefly = client.scope(transfer("c", "d", BRIEFLY)).await;
    closed_since(began, briefly, happened);
    let (one, keys, was) = (
        multi.lock(),
        client.scope(transfer("c", "d", CLOSED * 10)),
        client.scope(renamed()),
    );
    let all = async { tokio::join!(one, keys, was) };
    let (one, keys, was) = soon("granted in the end", all).await;
    one.unwrap().check().unwrap();
    keys.and(was).unwrap();
    assert!(began.elapsed() >= LONGEST, "{:?}", began.elapsed());
}

#[auto_mutex(name = "transfer", keys = [from, to], block = block)]
async fn transfer(from: &str, to: &str, block: Duration) -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "new", was = "suite:old")]
async fn renamed() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn what_was_promoted_a_moment_before_is_closed_for_as_long() {
    let primary = Redis::with(Options::default().replicated());
    for with_data in [true, false] {
        let options = Options::default().replicated();
        let replica = Redis::with(match with_data {
            true => options.survives_kills(),
            false => options,
        });
        replica.follow(&primary);
        is_on_disk(&replica).await;
        let promoted = Instant::now();
        replica.promote();
        let first = guarded(&replica);
        replica.restart();
        let guard = soon("granted in the end", first.mutex("m").lock()).await;
        // A restart closes a server for as long as a failover does, which is longer than `CLOSED`.
        let least = CLOSED + Duration::from_secs(1);
        assert!(promoted.elapsed() >= least, "{:?}", promoted.elapsed());
        assert!(guard.unwrap().unlock().await.unwrap());
    }
}

#[tokio::test]
async fn without_the_guard_too_if_its_data_says_so() {
    let primary = Redis::with(Options::default().replicated());
    let replica = Redis::with(Options::default().replicated().survives_kills());
    replica.follow(&primary);
    is_on_disk(&replica).await;
    replica.promote();
    let longest = config(&replica.url()).longest_lease("30s");
    let client = Client::connect(longest).unwrap();
    replica.restart();
    becomes("it is back", async || {
        client.mutex("m").is_locked().await.is_ok()
    })
    .await;
    closed(client.mutex("m").try_lock().await, "was failed over");
}

#[tokio::test]
async fn a_primary_that_loads_its_snapshot_is_taken_for_promoted() {
    let primary = Redis::with(Options::default().replicated());
    let replica = Redis::with(Options::default().replicated());
    replica.follow(&primary);
    let client = Client::connect(config(&primary.url()).longest_lease("30s")).unwrap();
    primary.save();
    primary.restart();
    becomes("it is back", async || {
        client.mutex("m").is_locked().await.is_ok()
    })
    .await;
    // The server was a primary all the time, so it need not be closed. After the restart, though, nothing shows this.
    closed(client.mutex("m").try_lock().await, "was failed over");
}

#[tokio::test]
async fn who_wants_no_guard_obeys_those_who_do() {
    let redis = Redis::start();
    let guarded = config(&redis.url())
        .restart_guard(true)
        .longest_lease("30s");
    let _guarded = Client::connect(guarded).unwrap();
    let other = Client::connect(config(&redis.url())).unwrap();
    closed(other.mutex("m").try_lock().await, "was restarted");
}
