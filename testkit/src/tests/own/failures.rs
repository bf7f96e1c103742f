//! What makes a test fail, and what it says then.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::{Fault, Register};

/// The message with which `test` fails.
pub(super) fn message(test: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("the test passes");
    crate::gate::message(&*panic).to_owned()
}

#[test]
fn a_panic_that_nobody_awaits_fails_the_test() {
    let of_task = message(|| {
        run(Runs::new(), |world| async move {
            drop(world.on(&world.client("a"), async { panic!("no {}", "money") }));
            world.idle().await;
        });
    });
    assert_eq!(of_task, "host `a` panicked: no money");
    let of_thread = message(|| {
        run(Runs::new(), |world| async move {
            drop(world.thread(&world.client("b"), || panic!("no money")));
            world.idle().await;
        });
    });
    assert_eq!(of_thread, "host `b` panicked: no money");
}

#[test]
fn it_fails_a_test_that_makes_its_world_too() {
    let failed = message(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let world = World::new();
            drop(world.on(&world.client("a"), async { panic!("no money") }));
            world.idle().await;
        });
    });
    assert_eq!(failed, "host `a` panicked: no money");
}

#[test]
fn a_panic_that_the_test_has_awaited_is_its_own() {
    run(Runs::new(), |world| async move {
        let work = world.on(&world.client("a"), async { panic!("expected") });
        let awaited: Result<(), _> = tokio::spawn(work).await;
        assert!(awaited.unwrap_err().is_panic());
    });
}

#[test]
fn a_wait_that_a_panic_has_made_endless_says_so() {
    let failed = message(|| {
        run(Runs::new(), |world| async move {
            drop(world.on(&world.client("a"), async { panic!("no money") }));
            std::future::pending::<()>().await;
        });
    });
    assert_eq!(failed, "host `a` panicked: no money");
}

#[test]
fn a_host_can_cause_faults_and_let_time_pass() {
    run(Runs::new().seeds(20), |world| async move {
        let (a, b) = (world.client("a"), world.client("b"));
        let other = world.hold_elsewhere("x").await;
        let inside = world.clone();
        let first = world.on(&a, async move {
            inside.idle().await;
            inside.advance(5 * SECOND).await;
            inside.failover().await;
            other.release().await;
        });
        let inside = world.clone();
        let second = world.on(&b, async move { inside.advance(3 * SECOND).await });
        first.await;
        second.await;
        assert_eq!(world.now(), 5 * SECOND);
    });
}

#[test]
fn a_run_that_does_not_repeat_itself_is_told() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let test = |world: World| async move {
        let name = format!("name {}", RUNS.fetch_add(1, Ordering::Relaxed) / 3);
        drop(world.client("a").mutex("x").lock().await.unwrap());
        drop(world.client("a").mutex(name).lock().await.unwrap());
    };
    run(Runs::new(), test);
    let failed = message(|| run(Runs::new(), test));
    let expected = "two runs of the seed 0 differ in event 3: `0.000s a waits for name%200`, then `0.000s a waits for name%201`. ";
    assert!(failed.starts_with(expected), "{failed}");
    assert!(failed.contains("`select!` without `biased;`"), "{failed}");
    for _ in 0..3 {
        run(Runs::new().repeatable(false), test);
    }
}

#[test]
fn a_run_that_stops_earlier_is_told() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let failed = message(|| {
        run(Runs::new(), |world| async move {
            if RUNS.fetch_add(1, Ordering::Relaxed) == 0 {
                drop(world.client("a").mutex("x").lock().await.unwrap());
            }
        });
    });
    assert!(
        failed.contains("`0.000s a waits for x`, then `nothing more`"),
        "{failed}"
    );
}

#[test]
fn the_environment_chooses_the_seeds() {
    let seeds = |variables: &[(&str, &str)]| {
        let runs = Runs::new().seeds(3).schedules(|name| {
            let found = variables.iter().find(|variable| variable.0 == name);
            found.map(|variable| variable.1.to_owned())
        });
        runs.iter().map(|run| run.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(seeds(&[]), ["0", "1", "2"]);
    assert_eq!(seeds(&[("AUTO_MUTEX_SEEDS", "2")]), ["0", "1"]);
    let both = [("AUTO_MUTEX_SEEDS", "2"), ("AUTO_MUTEX_SEED_START", "70")];
    assert_eq!(seeds(&both), ["70", "71"]);
    assert_eq!(
        seeds(&[("AUTO_MUTEX_SEED", "17:31=2"), both[0]]),
        ["17:31=2"]
    );
    assert_eq!(seeds(&[("AUTO_MUTEX_SEED_START", "random")]).len(), 3);
    let failed = message(|| drop(seeds(&[("AUTO_MUTEX_SEEDS", "many")])));
    assert_eq!(failed, "AUTO_MUTEX_SEEDS=many is no number");
}

#[test]
fn every_fault_can_be_drawn() {
    let drawn = Mutex::new(BTreeSet::new());
    run(Runs::new().seeds(200), |world| {
        let drawn = &drawn;
        async move {
            let fault = world.random_fault(&world.client("a"));
            drawn.lock().unwrap().insert(fault);
        }
    });
    let drawn = drawn.into_inner().unwrap();
    assert_eq!(drawn, Fault::ALL.iter().copied().collect());
}

#[test]
fn a_fence_refuses_what_came_before_it() {
    let register = Register::new();
    register.write(3, "three").unwrap();
    register.fence(5).unwrap();
    let stale = register.write(4, "four").unwrap_err();
    assert_eq!((stale.ours, stale.newest), (4, 5));
    register.write(5, "five").unwrap();
    assert!(register.fence(4).is_err());
    assert_eq!(register.read(), Some("five"));
}
