//! Nobody is harmed: then nothing may go wrong at all, and everybody gets a fair share.

use std::time::Duration;

use crate::arena::{Arena, PROCESSES, alone, duration, is_clean, process};

#[test]
fn sixty_four_tasks_in_eight_processes_take_turns() {
    let _alone = alone();
    let mut arena = Arena::open("calm", Duration::from_secs(10), duration(30));
    arena.watch(Duration::from_secs(24 * 60 * 60));
    let verdict = arena.close();
    is_clean(&verdict);
    assert_eq!(verdict.crowded, 0, "the plain counter saw two inside");
    assert_eq!(verdict.stale_writes, 0, "the register refused a write");
    for trouble in ["lost", "unavailable", "timeouts"] {
        assert!(
            arena.figures(trouble).iter().all(|&count| count == 0),
            "{trouble}: {:#?}",
            arena.said
        );
    }
    // Everybody was inside, and the shares of the processes are fair.
    let grants = arena.figures("grants");
    assert_eq!(grants.len(), 64);
    assert!(
        grants.iter().all(|&grants| grants > 0),
        "somebody starved: {grants:?}"
    );
    let fairness = verdict.fairness(process);
    assert!(
        fairness > 0.95,
        "fairness between processes {fairness}: {:?}",
        verdict.entered
    );
    let total: u64 = grants.iter().sum();
    let longest = arena
        .figures("longest_ms")
        .into_iter()
        .max()
        .unwrap_or_default();
    println!(
        "{total} turns of {PROCESSES} processes, fairness {fairness:.4}, longest wait {longest} ms, longest gap {:?}",
        verdict.longest_gap
    );
    nothing_is_left(&arena);
}

/// All have left: nobody holds or waits, and what is kept has a TTL and only serves the tokens.
pub(crate) fn nothing_is_left(arena: &Arena) {
    use auto_mutex::{Client, Config};
    use auto_mutex_tests::events::{eventually, finishes};

    eventually("nobody holds or waits", || {
        arena.redis.held() == 0 && arena.redis.waiting() == 0
    });
    // What the dead left goes with the next operation on the name, or with its TTL.
    let config = Config::new(arena.redis.url())
        .expect("a good URL")
        .namespace("suite");
    let client = Client::connect(config).expect("a client");
    let released = finishes("the lock is free", move || {
        client.mutex("m").blocking_lock()?.blocking_unlock()
    });
    assert!(released.expect("the lock"));
    for key in arena.redis.keys() {
        assert!(key.is_token() || key.is_gone_set(), "{key:?} is left");
        let most = if key.is_gone_set() { 31_000 } else { 660_000 };
        assert!((0..=most).contains(&key.ttl), "{key:?}");
    }
}
