//! A test that would wait forever fails, and says who waits for what.

use std::future::pending;
use std::thread;

use tokio::runtime::{Builder, Runtime};

use super::failures::message;
use super::*;
use crate::choices::Schedule;
use crate::world::Shared;

pub(super) const IN_A_HURRY: Duration = Duration::from_millis(50);

fn runtime(paused: bool) -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(paused).build().unwrap()
}

pub(super) fn in_a_hurry() -> World {
    World(Shared::with_patience(&Schedule::default(), IN_A_HURRY))
}

/// The host works until its lock is lost.
fn works(world: &World, host: &str) -> crate::Running<()> {
    let client = world.client(host);
    let mutex = client.mutex("x");
    world.on(&client, async move {
        let body = async |_: &_| pending::<()>().await;
        drop(mutex.synchronize(body).await);
    })
}

#[test]
fn a_wait_while_time_stands_still_names_the_way_out() {
    let failed = message(|| {
        runtime(false).block_on(async {
            let world = in_a_hurry();
            let first = works(&world, "a");
            world.idle().await;
            drop(works(&world, "b"));
            world.idle().await;
            first.await;
        });
    });
    assert!(failed.contains("call `world.advance(…)`"), "{failed}");
    assert!(
        failed.contains("\n- `a` holds `x` since 0.000s, by x at "),
        "{failed}"
    );
    assert!(
        failed.contains("\n- `b` waits for `x`, by x at "),
        "{failed}"
    );
}

#[test]
fn time_that_passes_ends_such_a_wait() {
    runtime(false).block_on(async {
        let world = in_a_hurry();
        let first = works(&world, "a");
        world.idle().await;
        world.lose("x").await;
        world.advance(10 * SECOND).await;
        first.await;
    });
}

#[test]
fn a_wait_of_the_test_itself_fails_too() {
    let failed = message(|| {
        runtime(false).block_on(async {
            let _world = in_a_hurry();
            pending::<()>().await;
        })
    });
    assert!(failed.contains("virtual time stands still"), "{failed}");
}

#[test]
fn virtual_time_has_a_limit_in_every_runtime() {
    let failed = message(|| {
        runtime(true).block_on(async {
            let world = World::new();
            let first = works(&world, "a");
            world.idle().await;
            let _second = works(&world, "b");
            first.await;
        })
    });
    assert!(failed.starts_with("six hours of virtual time"), "{failed}");
    assert!(
        failed.contains("\n- `b` waits for `x`, by x at "),
        "{failed}"
    );
}

#[test]
fn the_clock_runs_again_after_the_world() {
    let runtime = runtime(false);
    runtime.block_on(async {
        for _ in 0..2 {
            let world = World::new();
            let other = world.clone();
            drop(world);
            assert!(std::panic::catch_unwind(tokio::time::pause).is_err());
            drop(other);
            tokio::time::pause(); // panics if it does not run
            tokio::time::resume();
        }
    });
    let world = runtime.block_on(async { World::new() });
    thread::spawn(|| drop(world)).join().unwrap();
    runtime.block_on(async { tokio::time::pause() });
    runtime.block_on(async { tokio::time::resume() });
    let late = runtime.block_on(async { World::new() });
    runtime.shutdown_background();
    drop(late);
}

async fn spins() {
    loop {
        crate::gate::others_first().await;
    }
}

#[test]
fn steps_without_time_have_a_limit() {
    let expected = "the test has taken 200,000 steps, and no time has passed";
    let failed = message(|| run(Runs::new(), |_| spins()));
    assert!(failed.starts_with(expected), "{failed}");
    let failed = message(|| {
        runtime(true).block_on(async {
            let world = World::new();
            world.on(&world.client("a"), spins()).await;
        });
    });
    assert!(failed.starts_with(expected), "{failed}");
}
