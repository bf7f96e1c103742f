//! Tests with a world, and with parameters of rstest and test-case.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex::test::World;
use rstest::{fixture, rstest};
use test_case::test_case;

async fn closes(month: u32, world: World) -> Result<(), LockError> {
    let a = world.client("a");
    let mutex = a.mutex(format!("close:{month}"));
    world.hold_elsewhere("close:5").await;
    let waits = mutex.block("3s").lock().await;
    assert_eq!(waits.is_err(), month == 5);
    Ok(())
}

#[auto_mutex::auto_mutex(name = "close", key = "{month}", block = 10)]
async fn close_month(month: u32) -> Result<(), LockError> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(month > 0);
    Ok(())
}

// These two are in the documentation.
#[auto_mutex::test(seeds = 10)]
#[rstest]
#[case(5)]
#[case(12)]
async fn a_month_is_closed(#[case] month: u32, world: World) {
    let a = world.client("a");
    world.on(&a, close_month(month)).await.unwrap();
}

#[auto_mutex::test]
#[test_case(5)]
#[test_case(12)]
async fn a_close_takes_a_minute(month: u32, world: World) {
    let a = world.client("a");
    world.on(&a, close_month(month)).await.unwrap();
    assert_eq!(world.now(), Duration::from_secs(60));
}

#[auto_mutex::test(seeds = 2)]
#[rstest]
#[case(5)]
#[case::free(7)]
async fn a_case(#[case] month: u32, world: World) -> Result<(), LockError> {
    closes(month, world).await
}

#[rstest]
#[case(5)]
#[case::free(7)]
#[auto_mutex::test(seeds = 2)]
async fn a_case_first(#[case] month: u32, #[ignore] world: World) -> Result<(), LockError> {
    closes(month, world).await
}

#[fixture]
fn hosts() -> Vec<&'static str> {
    vec!["a", "b"]
}

#[auto_mutex::test]
#[rstest]
fn blocking(mut hosts: Vec<&'static str>, world: World, #[values(1, 2)] more: usize) {
    hosts.extend(["c"].repeat(more));
    for host in &hosts {
        drop(world.client(host).mutex("x").blocking_lock().unwrap());
    }
    auto_mutex::test::sleep(Duration::from_secs(60));
    assert!(hosts.len() == 2 + more);
}

#[auto_mutex::test(seeds = 2)]
#[test_case(5)]
#[test_case(7; "which is free")]
async fn a_test_case(month: u32, world: World) -> Result<(), LockError> {
    closes(month, world).await
}

#[test_case(5)]
#[test_case(7; "which is free")]
#[auto_mutex::test]
async fn a_test_case_first(month: u32) -> Result<(), LockError> {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!([5, 7].contains(&month));
    Ok(())
}
