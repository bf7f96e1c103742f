//! A server that is restarted, with the restart guard and without.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};

use crate::rig::{BRIEFLY, CLOSED, LONGEST, closed, closed_since, config, lasting};

fn guarded(redis: &Redis) -> Client {
    Client::connect(
        config(&redis.url())
            .restart_guard(true)
            .store_timeout("60s"),
    )
    .expect("a client")
}

#[tokio::test]
async fn nothing_is_granted_until_the_old_leases_have_ended() {
    let _watch = real_time();
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
async fn several_names_wait_like_one() {
    let _watch = real_time();
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
    drop(one.unwrap());
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
async fn a_primary_that_loads_its_snapshot_is_taken_for_promoted() {
    let primary = Redis::with(Options::default().replicated());
    let replica = Redis::with(Options::default().replicated());
    replica.follow(&primary);
    let client = Client::connect(lasting(&primary.url())).unwrap();
    primary.save();
    primary.restart();
    becomes("it is back", async || {
        client.mutex("m").is_locked().await.is_ok()
    })
    .await;
    // The server was a primary all the time, so it need not be closed. After the restart, though, nothing shows this.
    closed(client.mutex("m").try_lock().await, "was failed over");
}
