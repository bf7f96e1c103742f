//! Servers that come back empty: with the restart guard, they do not help a second client to a majority.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_tests::clock::Clock;
use auto_mutex_tests::events::{LONG, becomes, eventually, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::runtimes::current_thread;

use crate::ground::{Contest, Ground, SERVERS};

/// The lease, and the longest lease of all clients. A server is closed for a second more.
const LEASE: Duration = Duration::from_millis(1500);

#[test]
fn a_server_restarted_empty_helps_nobody_to_a_second_majority() {
    let _watch = real_time();
    let mut ground = Ground::open("second");
    ground.guard = LEASE;
    let order = ground.some(SERVERS);
    let (holder, other) = (ground.member(LEASE), ground.member_beside(LEASE));
    current_thread().block_on(async {
        drop(soon("they open", holder.mutex("m").lock()).await.unwrap());
        becomes("it is free everywhere", async || have(&ground).await == 0).await;
        // The holder has three of five servers, and cannot reach the other two.
        for &server in &order[..2] {
            ground.proxies[server].refuse();
            ground.proxies[server].cut();
        }
        let guard = soon("a bare majority", holder.mutex("m").lock())
            .await
            .unwrap();
        // One of the three, together with the other two, would be a second majority.
        ground.servers[order[2]].restart();
        let granted = soon("it is free in the end", async {
            loop {
                match other.mutex("m").try_lock().await {
                    Ok(Some(granted)) => return granted,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        });
        let granted = granted.await;
        assert!(guard.is_lost(), "two holders at the same time");
        assert!(granted.fencing_token() > guard.fencing_token());
    });
}

#[test]
fn a_holder_takes_again_what_servers_have_lost() {
    let clocks = match clocks() {
        Ok(clocks) => clocks,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let options = |clock| Options::default().clock(clock);
    let servers = clocks.iter().map(|clock| Redis::with(options(clock)));
    let mut ground = Ground::of("empty", servers.collect());
    ground.guard = LONG;
    let (holder, other) = (ground.member(LONG), ground.member(LONG));
    clocks.iter().for_each(|clock| clock.forward(2 * LONG));
    current_thread().block_on(async {
        let guard = soon("they open", holder.mutex("m").lock()).await.unwrap();
        // Two servers at a time lose their data, until each has done so. The holder takes them again before the next
        // two restart.
        let order = ground.some(SERVERS);
        for pair in order.chunks(2) {
            becomes("it has them all", async || all_have(&ground).await).await;
            pair.iter()
                .for_each(|&server| ground.servers[server].restart());
            for _ in 0..5 {
                let tried = other.mutex("m").try_lock().await;
                assert!(!matches!(tried, Ok(Some(_))), "two of five are no majority");
            }
            pair.iter()
                .for_each(|&server| clocks[server].forward(2 * LONG));
            becomes("it has them all again", async || {
                guard.refresh(LONG).await.unwrap();
                all_have(&ground).await
            })
            .await;
        }
        assert!(guard.unlock().await.unwrap());
        drop(soon("it is free", other.mutex("m").lock()).await.unwrap());
    });
}

/// A clock for each server.
fn clocks() -> Result<Vec<Arc<Clock>>, String> {
    let clocks = (0..SERVERS).map(|_| Clock::new().map(Arc::new));
    clocks.collect()
}

async fn all_have(ground: &Ground) -> bool {
    have(ground).await == SERVERS
}

/// Returns the number of servers that have a holder.
async fn have(ground: &Ground) -> usize {
    let mut holders = 0;
    for server in 0..SERVERS {
        let there = ground.member_of(server);
        holders += there.mutex("m").info().await.unwrap().holders.len();
    }
    holders
}

#[test]
fn one_server_after_another_is_restarted_empty_while_processes_contend() {
    let _watch = real_time();
    let mut ground = Ground::open("one by one");
    ground.guard = LEASE;
    let contest = Contest::begin(&mut ground, LEASE, 1);
    for _ in 0..3 {
        let server = ground.some(1)[0];
        ground.servers[server].restart();
        contest.gets_on("a server is closed");
        // Two closed servers are no majority, but three would be, so the next restart waits until this server is open.
        let there = ground.member_of(server);
        eventually("it is open", || there.mutex("open").blocking_lock().is_ok());
    }
    contest.end();
}
