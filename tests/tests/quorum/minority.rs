//! All servers work, or up to two of five fail: processes that compete get on, and exclude each other.

use std::time::Duration;

use auto_mutex_tests::events::LONG;

use crate::ground::{Contest, Ground};

/// The largest number of servers that may fail.
const MINORITY: usize = 2;
const ROUNDS: usize = 3;

#[test]
fn a_killed_minority_stops_nobody() {
    let mut ground = Ground::open("killed");
    let contest = Contest::begin(&mut ground, LONG, 1);
    for server in ground.some(MINORITY) {
        ground.servers[server].kill9();
        contest.gets_on("a server was killed");
    }
    contest.end();
}

/// Each turn would take ten seconds, and there are dozens of them.
#[test]
fn a_slow_minority_slows_nobody_down() {
    let mut ground = Ground::open("slow");
    let contest = Contest::begin(&mut ground, LONG, 1);
    for server in ground.some(MINORITY) {
        ground.proxies[server].delay(Duration::from_secs(5));
    }
    contest.gets_on("servers are slow");
    contest.end();
}

#[test]
fn a_minority_that_is_cut_off_stops_nobody() {
    let mut ground = Ground::open("cut");
    let contest = Contest::begin(&mut ground, LONG, 1);
    for round in 0..ROUNDS {
        let chosen = ground.some(1 + round % MINORITY);
        for &server in &chosen {
            match ground.seed.below(3) {
                0 => ground.proxies[server].cut(),
                1 => ground.proxies[server].freeze(),
                _ => {
                    ground.proxies[server].refuse();
                    ground.proxies[server].cut();
                }
            }
        }
        contest.gets_on("servers are cut off");
        chosen
            .iter()
            .for_each(|&server| ground.proxies[server].heal());
        contest.gets_on("servers are back");
    }
    contest.end();
}
