//! Up to two of five servers fail: the others continue to serve.

use std::time::Duration;

use crate::ground::{Contest, Ground};

const LEASE: Duration = Duration::from_secs(2);
const SHORT: (Duration, Duration) = (LEASE, Duration::from_secs(4));

/// The largest number of servers that may fail.
const MINORITY: usize = 2;

#[test]
fn a_killed_minority_stops_nobody() {
    let mut ground = Ground::open("killed");
    let contest = Contest::begin(&mut ground, "mutex", 2, SHORT);
    contest.gets_on("the contest begins");
    for server in ground.some(MINORITY) {
        ground.servers[server].kill9();
        contest.gets_on("a server was killed");
    }
    contest.end();
}

#[test]
fn a_suspended_minority_stops_nobody() {
    let mut ground = Ground::open("suspended");
    let contest = Contest::begin(&mut ground, "mutex", 2, SHORT);
    while !contest.is_over() {
        let count = 1 + ground.seed.below(MINORITY as u64) as usize;
        let chosen = ground.some(count);
        for &server in &chosen {
            ground.servers[server].stop();
        }
        contest.gets_on("servers are suspended");
        std::thread::sleep(Duration::from_millis(ground.seed.below(1500)));
        for &server in &chosen {
            ground.servers[server].cont();
        }
        contest.gets_on("servers go on");
    }
    contest.end();
}

#[test]
fn a_slow_minority_slows_nobody_down() {
    let mut ground = Ground::open("slow");
    let contest = Contest::begin(&mut ground, "mutex", 2, SHORT);
    for server in ground.some(MINORITY) {
        ground.proxies[server].delay(Duration::from_millis(300));
    }
    contest.gets_on("servers are slow");
    let verdict = contest.end();
    // If calls waited for the slow servers, a turn would take 0.6 s, so there would be seven turns.
    assert!(verdict.proven > 14, "{}", verdict.proven);
}

#[test]
fn a_minority_that_is_cut_off_stops_nobody() {
    let mut ground = Ground::open("cut");
    let contest = Contest::begin(&mut ground, "mutex", 2, SHORT);
    while !contest.is_over() {
        let chosen = ground.some(MINORITY);
        for &server in &chosen {
            let proxy = &ground.proxies[server];
            match ground.seed.below(3) {
                0 => proxy.cut(),
                1 => proxy.freeze(),
                _ => {
                    proxy.refuse();
                    proxy.cut();
                }
            }
        }
        contest.gets_on("servers are cut off");
        std::thread::sleep(Duration::from_millis(ground.seed.below(700)));
        for &server in &chosen {
            ground.proxies[server].heal();
        }
    }
    contest.end();
}
