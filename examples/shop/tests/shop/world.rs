//! What a payment does when its instance stands still: a World for the locks, beside a real database.

use std::env;
use std::process::Command;
use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex::test::World;
use auto_mutex_example_shop::pay;
use auto_mutex_tests::databases::{self, IN_A_HURRY};
use sqlx::PgPool;

const SECOND: Duration = Duration::from_secs(1);

#[sqlx::test]
#[ignore = "needs a DATABASE_URL: `no_database_is_left_behind` runs it"]
async fn an_instance_that_stood_still_pays_nothing(pool: PgPool) {
    let world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let pay_on = |client| {
        let pool = pool.clone();
        world.on(client, async move { pay(&pool, 7).await })
    };
    let late = pay_on(&a);
    world.idle().await; // it has the lock, and asks the payment company
    world.suspend(&a).await;
    world.advance(60 * SECOND).await; // its lease ends

    let next = pay_on(&b);
    world.advance(SECOND).await; // the payment company answers
    assert!(next.await.unwrap()); // waits for the database, in no time

    world.resume(&a).await;
    world.advance(SECOND).await;
    let error = late.await.unwrap_err().0;
    assert!(
        matches!(error.downcast_ref(), Some(LockError::Lost { .. })),
        "{error}"
    );
    let paid = sqlx::query_scalar("SELECT count(*) FROM payments WHERE order_id = 7");
    let paid: i64 = paid.fetch_one(&pool).await.unwrap();
    assert_eq!(paid, 1);
    world.assert_no_overlap();
}

#[test]
fn no_database_is_left_behind() {
    let server = databases::postgres(&IN_A_HURRY).expect("PostgreSQL");
    let tests = Command::new(env::current_exe().unwrap())
        .args(["world::", "--ignored"])
        .env("DATABASE_URL", server.url("postgres"))
        .output()
        .unwrap();
    let said = [tests.stdout, tests.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        tests.status.success() && said.contains("1 passed"),
        "{said}"
    );
    let none_is_left = r"DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM pg_database WHERE datname LIKE '\_sqlx\_test%'); END $$";
    assert!(server.runs(none_is_left), "{said}");
}
