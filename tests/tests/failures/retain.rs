//! Locks that stay with their client between calls, without a request.

use auto_mutex::{LockError, auto_mutex};
use auto_mutex_tests::events::finishes;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::runtimes::multi_thread;

use crate::rig::Rig;

const RETAIN: &str = "600s";

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
    let runtime = multi_thread();
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
        let before = commands(&rig.redis);
        for _ in 0..CALLS {
            call();
        }
        let sent = commands(&rig.redis) - before;
        // The client renews the short lease every half second, and tells the store of a call if the machine stalls in
        // it.
        assert!(sent <= CALLS / 2, "way {number}: {sent} requests");
        let theirs = other.mutex(*name);
        let guard = finishes("recalled", move || theirs.blocking_lock()).unwrap();
        assert!(guard.blocking_unlock().unwrap());
    }
}
