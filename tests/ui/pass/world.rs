//! Tests with a world of their own, in all forms.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex::test::World;

/// Stands for a crate that re-exports the runtime.
mod mine {
    pub use auto_mutex as locks;
}

mod core {}
pub struct Result;
pub struct Runs;

const SEEDS: u32 = 3;

#[auto_mutex::auto_mutex(name = "close", block = 10)]
async fn close() -> std::result::Result<(), LockError> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok(())
}

#[auto_mutex::auto_mutex(name = "close", block = 10)]
fn blocking_close() -> std::result::Result<(), LockError> {
    auto_mutex::test::sleep(Duration::from_secs(60));
    Ok(())
}

#[auto_mutex::test]
async fn plain(world: World) {
    world.on(&world.client("a"), close()).await.unwrap();
    assert_eq!(world.now(), Duration::from_secs(60));
}

#[auto_mutex::test(seeds = 20, shrink)]
async fn with_a_result(mut world: World) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let number: u32 = "1".parse()?;
    world.on(&world.client("a"), close()).await?;
    if number == 2 {
        world = World::with_seed(1);
        Err("two")?;
    }
    drop(world);
    Ok(())
}

#[auto_mutex::test(crate = mine::locks)]
async fn without_a_world() {
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

#[auto_mutex::test]
fn blocking(world: World) -> std::result::Result<(), LockError> {
    world.client("a").blocking_scope(blocking_close)?;
    assert_eq!(world.now(), Duration::from_secs(60));
    Ok(())
}

/// An error that can't leave its thread.
#[auto_mutex::test]
fn blocking_with_any_error(world: World) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let number: u32 = "1".parse()?;
    assert_eq!(number, 1);
    Ok(world.client("a").blocking_scope(blocking_close)?)
}

#[auto_mutex::test]
async fn r#match(_: World) {}

#[auto_mutex::test]
fn r#loop() {
    #![allow(unused_variables)]
    let unused = 1;
}

#[auto_mutex::test]
fn blocking_without_a_world() {
    auto_mutex::test::sleep(Duration::from_secs(3600));
}

#[auto_mutex::test(seeds = SEEDS)]
#[should_panic(expected = "the third")]
async fn each_seed_runs(_: World) {
    static RUN: AtomicU32 = AtomicU32::new(0);
    assert!(RUN.fetch_add(1, Ordering::Relaxed) < 2, "the third run");
}

#[auto_mutex::test]
#[should_panic(expected = "no such month")]
async fn an_error_fails() -> std::result::Result<(), String> {
    Err("no such month".to_owned())
}

#[auto_mutex::test]
#[should_panic(expected = "no such month")]
fn an_error_of_blocking_code_fails() -> std::result::Result<(), String> {
    Err("no such month".to_owned())
}

/// Documented.
#[auto_mutex::test]
#[ignore = "it fails"]
async fn ignored(_: World) {
    panic!("not ignored");
}

#[cfg(any())]
#[auto_mutex::test]
async fn not_configured(_: World) {
    nothing
}

mod imported {
    // `test` is the module and the attribute.
    use auto_mutex::test;

    #[test(seeds = 2)]
    async fn by_name(_: test::World) {}
}
