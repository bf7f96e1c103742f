//! A World of the test kit in what `#[sqlx::test]` expands to: its runtime, with a pool of a real database. The guide's
//! chapter on testing shows it.

use std::env;
use std::error::Error;
use std::process::Command;
use std::time::Duration;

use auto_mutex::auto_mutex;
use auto_mutex::test::World;
use sqlx::PgPool;
use sqlx::testing::{TestArgs, TestFn};

use crate::postgres::SERVER;

#[auto_mutex(name = "close", key = "{month}", block = 200)]
async fn close_month(pool: &PgPool, month: i32) -> Result<(), Box<dyn Error + Send + Sync>> {
    if closed(pool).await == 0 {
        let insert = sqlx::query("INSERT INTO closed VALUES ($1)").bind(month);
        insert.execute(pool).await?;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    Ok(())
}

async fn closed(pool: &PgPool) -> i64 {
    let count = sqlx::query_scalar("SELECT count(*) FROM closed");
    count.fetch_one(pool).await.unwrap()
}

async fn a_month_is_closed_once(pool: PgPool) {
    let create = sqlx::query("CREATE TABLE closed (month INT)");
    create.execute(&pool).await.unwrap();
    let world = World::new();
    let close = |host| {
        let pool = pool.clone();
        world.on(
            &world.client(host),
            async move { close_month(&pool, 5).await },
        )
    };
    let first = close("a");
    while closed(&pool).await == 0 {
        assert!(!first.is_finished()); // no time passes
    }
    let second = close("b");
    world.advance(Duration::from_secs(59)).await;
    assert!(!first.is_finished() && !second.is_finished());
    while !first.is_finished() {
        world.advance(Duration::from_secs(1)).await; // its minute may have begun a moment late
    }
    first.await.unwrap();
    second.await.unwrap(); // waits for the database, in no time
    assert_eq!(closed(&pool).await, 1);
    world.assert_no_overlap();
}

/// Set in a process that runs the test alone: `#[sqlx::test]` reads `DATABASE_URL`.
const CHILD: &str = "AUTO_MUTEX_TEST_CHILD";

#[test]
fn a_world_lives_in_the_runtime_of_another_attribute() {
    if env::var_os(CHILD).is_some() {
        let test: fn(PgPool) -> _ = a_month_is_closed_once;
        return test.run_test(TestArgs::new("a_month_is_closed_once"));
    }
    let url = SERVER.url("postgres");
    let name = "world::a_world_lives_in_the_runtime_of_another_attribute";
    let test = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .envs([(CHILD, "1"), ("DATABASE_URL", &url)])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stderr);
    assert!(test.status.success(), "{said}");
    assert!(!said.contains("failed to delete"), "{said}");
    sqlx::test_block_on(async {
        let pool = PgPool::connect(&url).await.unwrap();
        // sqlx notes each database that it makes.
        let left = "SELECT (SELECT count(*) FROM _sqlx_test.databases) + count(*) FROM pg_database \
                    WHERE datname LIKE '\\_sqlx\\_test%'";
        let left: i64 = sqlx::query_scalar(left).fetch_one(&pool).await.unwrap();
        assert_eq!(left, 0, "{said}");
    });
}
