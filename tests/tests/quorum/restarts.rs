//! Servers that come back empty: with the restart guard they help nobody to a second majority.

use std::time::Duration;

use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::runtimes::current_thread;

use crate::ground::{Contest, Ground, SERVERS};

/// The lease, and the longest of anybody. A server is closed for a second more.
const LEASE: Duration = Duration::from_millis(1500);

#[test]
fn servers_restarted_empty_help_nobody_to_a_second_majority() {
    let mut ground = Ground::open("empty");
    ground.guard = LEASE;
    let (holder, other) = (ground.member(LEASE), ground.member(LEASE));
    current_thread().block_on(async {
        let guard = soon("they open", holder.mutex("m").lock()).await.unwrap();
        becomes("all have granted", async || {
            let info = other.mutex("m").info().await.unwrap();
            info.holders.len() == 1 && all_have(&ground).await
        })
        .await;
        // Two empty ones at a time, until each has been one: the holder takes them again before the next two go.
        let order = ground.some(SERVERS);
        for pair in order.chunks(2) {
            for &server in pair {
                ground.servers[server].restart();
            }
            for _ in 0..20 {
                let tried = other.mutex("m").try_lock().await;
                assert!(!matches!(tried, Ok(Some(_))), "a second majority");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            becomes("it has them all again", async || all_have(&ground).await).await;
        }
        guard.check().unwrap();
        assert!(guard.unlock().await.unwrap());
        drop(soon("it is free", other.mutex("m").lock()).await.unwrap());
    });
}

async fn all_have(ground: &Ground) -> bool {
    for server in 0..SERVERS {
        let there = ground.member_of(server);
        if there.mutex("m").info().await.unwrap().holders.len() != 1 {
            return false;
        }
    }
    true
}

#[test]
fn one_server_after_another_is_restarted_empty_while_processes_contend() {
    let mut ground = Ground::open("one by one");
    ground.guard = LEASE;
    let contest = Contest::begin(&mut ground, "mutex", 2, (LEASE, Duration::from_secs(12)));
    contest.gets_on("they open");
    while !contest.is_over() {
        let server = ground.some(1)[0];
        ground.servers[server].restart();
        contest.gets_on("a server is closed");
        // Two at a time are no majority, three would be.
        std::thread::sleep(LEASE + Duration::from_millis(2500));
    }
    contest.end();
}
