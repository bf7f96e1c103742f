//! The assertions after every contest, whatever happened in it.

use std::time::Duration;

use auto_mutex_tests::events::{eventually, finishes};
use auto_mutex_tests::witness::Verdict;

use crate::arena::{Arena, NAME, PROCESSES, process};

/// Asserts that there were never too many holders, and that tokens grow.
pub(crate) fn is_clean(verdict: &Verdict) {
    let none = Vec::<String>::new();
    assert_eq!(verdict.overlaps, none, "too many holders at the same time");
    assert_eq!(verdict.token_faults, none, "a token that did not grow");
    assert!(verdict.proven > 0, "nobody was ever inside");
}

/// For a contest without faults: asserts that nothing went wrong and that every task had turns.
pub(crate) fn is_calm(arena: &mut Arena) -> Verdict {
    let verdict = arena.close();
    is_clean(&verdict);
    assert_eq!(verdict.crowded, 0, "the plain counter saw too many inside");
    assert_eq!(verdict.stale_writes, 0, "a register refused a write");
    no_trouble(arena);
    let turns = arena.figures("turns");
    assert_eq!(turns.len(), 64);
    assert!(
        turns.iter().all(|&turns| turns > 0),
        "somebody starved: {turns:?}"
    );
    // Only printed, because it depends on the machine. The benchmarks have a limit for it.
    let fairness = verdict.fairness(process);
    println!(
        "{} turns of {PROCESSES} processes, {} given up, fairness {fairness:.4}, longest wait {} ms, longest gap {:?}",
        arena.sum("turns"),
        arena.sum("cancelled"),
        arena.figures("longest_ms").iter().max().unwrap_or(&0),
        verdict.longest_gap
    );
    nothing_is_left(arena);
    verdict
}

/// Asserts that no hold was lost without cause, and that the store was always there.
pub(crate) fn no_trouble(arena: &Arena) {
    assert_eq!(arena.strange_losses(), 0, "{:#?}", arena.said);
    assert_eq!(arena.sum("unavailable"), 0, "{:#?}", arena.said);
}

/// For a contest with faults: asserts that the other processes continued, and that nothing is left.
pub(crate) fn survived(arena: &mut Arena) -> Verdict {
    let verdict = arena.close();
    is_clean(&verdict);
    println!(
        "{} turns proven, {} kills, freed within {:?}, {} stale writes refused, {} losses, longest wait {} ms, longest gap {:?}",
        verdict.proven,
        arena.dead.kills,
        arena.dead.longest,
        verdict.stale_writes,
        arena.losses(),
        arena.figures("longest_ms").iter().max().unwrap_or(&0),
        verdict.longest_gap,
    );
    nothing_is_left(arena);
    verdict
}

/// After all tasks have left: asserts that no holder or waiter is left, and that the store only keeps tokens, for a
/// time.
pub(crate) fn nothing_is_left(arena: &Arena) {
    eventually("nobody holds or waits", || arena.store.is_free());
    // The keys of killed processes are deleted by the next operation on the name, or end with their TTL.
    let client = arena.observer.clone();
    finishes("the lock is free", move || {
        let free = client.mutex(NAME).blocking_lock().expect("the lock");
        assert!(free.blocking_unlock().expect("an answer"));
    });
    arena.store.keeps_only_tokens();
}

/// Suspends one worker until other tasks have taken over, then one worker for half a lease, and so on until the contest
/// is over. Returns how often other tasks took over.
pub(crate) fn suspend_now_and_then(arena: &mut Arena) -> usize {
    let mut taken_over = 0;
    while !arena.is_over() {
        taken_over += usize::from(suspend_beyond_the_lease(arena));
        let victim = arena.victim();
        arena.watch(arena.plan.lease / 2);
        arena.workers[victim].cont();
        arena.watch(Duration::from_millis(300));
    }
    taken_over
}

/// Suspends a worker while one of its tasks holds the lock, until other tasks have taken over. Waits until the worker
/// has noticed the loss. Returns false if the contest ended first.
fn suspend_beyond_the_lease(arena: &mut Arena) -> bool {
    arena.watch(Duration::from_millis(300));
    let victim = arena.caught_inside();
    let (progress, losses) = (arena.witness.progress(), arena.losses());
    arena.watch(arena.plan.lease + Duration::from_millis(500));
    arena.watch_until(|arena| arena.witness.progress() > progress);
    let in_time = !arena.is_over();
    arena.workers[victim].cont();
    if in_time {
        eventually("the loss is noticed", || {
            arena.look();
            arena.losses() > losses
        });
    }
    in_time
}
