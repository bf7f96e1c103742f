//! Locks that stay with their client between calls: without a request on the way, and with a keeper that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError, Mutex, auto_mutex};
use auto_mutex_tests::events::{becomes, finishes, soon, waiters};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::stalls::despite_stalls;
use auto_mutex_tests::worker::Worker;

use crate::rig::Rig;

const RETAIN: &str = "600s";
/// A dead keeper costs two seconds. Others wait for this lease if the keeper has not cut its own.
const LEASE: Duration = Duration::from_secs(10);
/// Well below the lease, on a slow machine.
const SOON: Duration = Duration::from_secs(5);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// All commands that the server has executed for clients of the library. The library sends no `INFO` and no `PING` now.
fn commands(redis: &Redis) -> u64 {
    let stats = redis.command(&["INFO", "commandstats"]);
    let calls = |line: &str| {
        line.split_once("calls=")?
            .1
            .split(',')
            .next()?
            .parse::<u64>()
            .ok()
    };
    let stats = stats.text();
    let lines = stats.lines().filter(|line| !line.contains("_info:"));
    lines.filter_map(calls).sum()
}

#[auto_mutex(name = "async", retain = "600s")]
async fn async_site(count: &mut u64) -> Result<(), LockError> {
    *count += 1;
    Ok(())
}

#[auto_mutex(name = "sync", retain = 600)]
fn sync_site(count: &mut u64) -> Result<(), LockError> {
    *count += 1;
    Ok(())
}

type Call<'a> = Box<dyn FnMut() + 'a>;

#[test]
fn an_owner_that_returns_sends_no_request() {
    const CALLS: u64 = 2000;
    let rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    let runtime = runtime();
    let mutex = |name: &str| client.mutex(name).retain(RETAIN);
    // A name that another client has just asked for is not kept.
    let (by_hand, blocking, awaited) = (mutex("by hand"), mutex("blocking"), mutex("awaited"));
    let mut count = 0;
    let mut ways: [(&str, Call<'_>); 5] = [
        (
            "by hand",
            Box::new(|| drop(runtime.block_on(by_hand.lock()).unwrap())),
        ),
        (
            "blocking",
            Box::new(|| drop(blocking.blocking_lock().unwrap())),
        ),
        (
            "awaited",
            Box::new(|| {
                let guard = awaited.blocking_lock().unwrap();
                assert!(guard.blocking_unlock().unwrap());
            }),
        ),
        (
            "async",
            Box::new(|| {
                let mut count = 0;
                let call = client.scope(async_site(&mut count));
                runtime.block_on(call).unwrap();
                assert_eq!(count, 1);
            }),
        ),
        (
            "sync",
            Box::new(|| client.blocking_scope(|| sync_site(&mut count)).unwrap()),
        ),
    ];
    for (number, (name, call)) in ways.iter_mut().enumerate() {
        call();
        let (before, began) = (commands(&rig.redis), Instant::now());
        for _ in 0..CALLS {
            call();
        }
        let took = began.elapsed();
        let sent = commands(&rig.redis) - before;
        println!("{CALLS} calls in {took:?}, {sent} requests");
        // The client renews the short lease every half second, and tells the store of a call if the machine stalls in it.
        assert!(
            sent <= CALLS / 10,
            "way {number}: {sent} requests in {took:?}"
        );
        let theirs = other.mutex(*name);
        let guard = finishes("recalled", move || theirs.blocking_lock()).unwrap();
        assert!(guard.blocking_unlock().unwrap());
    }
}

/// A process that keeps `name`.
async fn keeper(rig: &Rig, observer: &Client, name: &str) -> (Worker, u64) {
    let mut setup = rig.worker_setup(LEASE);
    setup.url = rig.redis.url_at(rig.proxy.port());
    setup.options.push("retain=600".to_owned());
    let mut worker = setup.start();
    let token = worker.lock(name);
    worker.say(&format!("drop {name}"));
    worker.expect(&format!("dropped {name}"));
    is_kept(&observer.mutex(name)).await;
    (worker, token)
}

async fn is_kept(mutex: &Mutex) {
    becomes("it is kept", async || mutex.info().await.unwrap().kept).await;
}

/// Waits for the lock of a keeper that does not answer.
async fn costs_little(mutex: Mutex, token: u64) -> auto_mutex::MutexGuard {
    let began = Instant::now();
    let guard = soon("the lock of a dead keeper", mutex.lock())
        .await
        .unwrap();
    let took = began.elapsed();
    println!("a waiter got the lock after {took:?}");
    assert!(took < SOON, "{took:?}");
    assert!(guard.fencing_token() > token);
    guard
}

#[test]
fn a_killed_keeper_costs_two_seconds() {
    despite_stalls(|| {
        runtime().block_on(async {
            let rig = Rig::new();
            let client = rig.client();
            let ((mut one, token), (mut other, _)) = (
                keeper(&rig, &client, "waits").await,
                keeper(&rig, &client, "tries").await,
            );
            one.kill9();
            other.kill9();
            let tries = async {
                let guard = client.mutex("tries").try_lock().await.unwrap();
                drop(guard.expect("it asks until the short lease ends"));
            };
            let waits = costs_little(client.mutex("waits"), token);
            drop(tokio::join!(waits, tries));
        });
    });
}

#[test]
fn a_keeper_suspended_beyond_its_short_lease_does_not_enter() {
    despite_stalls(|| {
        runtime().block_on(async {
            let rig = Rig::new();
            let client = rig.client();
            let (mut keeper, token) = keeper(&rig, &client, "m").await;
            keeper.stop();
            // The recall doesn't reach it, also when it goes on.
            rig.proxy.freeze();
            let guard = costs_little(client.mutex("m"), token).await;
            keeper.say("try m");
            keeper.cont();
            keeper.expect("failed m ");
            rig.proxy.thaw();
            keeper.say("try m");
            keeper.expect("busy m");
            let token = guard.fencing_token();
            assert!(guard.unlock().await.unwrap());
            assert!(keeper.lock("m") > token);
        });
    });
}

/// Keeps a lock behind a link that is harmed, and calls all the time. No call is inside while another client holds.
async fn is_cut_off(rig: &Rig, harm: fn(&Proxy)) {
    let (keeper, other) = (rig.proxied_leasing(LEASE), rig.client());
    let mutex = keeper.mutex("m").retain(RETAIN);
    drop(mutex.lock().await.unwrap());
    is_kept(&other.mutex("m")).await;
    let guard = mutex.lock().await.unwrap();
    let token = guard.fencing_token();
    drop(guard);
    harm(&rig.proxy);
    let theirs = Arc::new(AtomicBool::new(false));
    let waiting = tokio::spawn({
        let (theirs, mutex) = (theirs.clone(), other.mutex("m"));
        async move {
            let guard = costs_little(mutex, token).await;
            theirs.store(true, Ordering::SeqCst);
            guard
        }
    });
    let attempt = mutex.clone().block(Duration::ZERO);
    let (mut entered, mut ended) = (0, false);
    while !ended {
        // Also once more after the other client has it.
        ended = waiting.is_finished();
        let call = tokio::time::timeout(Duration::from_millis(50), attempt.lock());
        if let Ok(Ok(guard)) = call.await {
            let has_it = theirs.load(Ordering::SeqCst);
            assert!(!has_it || guard.check().is_err(), "two are inside");
            entered += 1;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    println!("{entered} calls entered before");
    let guard = waiting.await.unwrap();
    rig.proxy.thaw();
    rig.proxy.heal();
    let again = tokio::spawn(async move { mutex.lock().await });
    waiters(&other.mutex("m"), 1).await;
    let token = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    let guard = soon("it is connected again", again).await.unwrap().unwrap();
    assert!(guard.fencing_token() > token);
}

#[test]
fn a_keeper_that_is_cut_off_does_not_enter() {
    for harm in [
        (|proxy| {
            proxy.refuse();
            proxy.cut();
        }) as fn(&Proxy),
        Proxy::freeze,
        Proxy::hold_replies,
    ] {
        despite_stalls(move || runtime().block_on(async { is_cut_off(&Rig::new(), harm).await }));
    }
}
