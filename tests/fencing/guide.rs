//! Runs the guide's chapter on fencing: its job with a holder that writes too late, the same with rusqlite, and its
//! SQL. `documents.rs` checks that the chapter shows exactly this job.

use std::cell::RefCell;
use std::error::Error;

use auto_mutex::{Client, LockError, MutexGuard, auto_mutex};
use auto_mutex_fence::{Dialect, Fence, FenceError, Prover, Token};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::Redis;
use rusqlite::Connection;
use sqlx::{Connection as _, Executor as _, PgConnection, PgPool};

use crate::{postgres, prove};

const CHAPTER: &str = include_str!("../../runtime/src/guide/fencing.md");

/// Adds up a month. An error if a later holder has already written.
#[auto_mutex(key = month)]
async fn close(pool: &PgPool, month: i32) -> Result<(), Box<dyn Error>> {
    let total = sum_up(month);
    let mut tx = pool.begin().await?;
    auto_mutex::current()?.fence(&mut tx).await?;
    sqlx::query("UPDATE report SET total = $1 WHERE month = $2")
        .bind(total)
        .bind(month)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

/// The same with rusqlite, and with the guard.
#[auto_mutex(key = month, guard = lock)]
fn close_here(db: &mut Connection, month: i32) -> Result<(), Box<dyn Error>> {
    let total = sum_up(month);
    let tx = db.transaction()?;
    lock.fence(&tx)?;
    tx.execute(
        "UPDATE report SET total = ?1 WHERE month = ?2",
        (total, month),
    )?;
    tx.commit()?;
    Ok(())
}

/// Fails if a fence would fail: without the table, without rights, or with the locks in another database.
async fn start(url: &str, pool: &PgPool) -> Result<(), Box<dyn Error>> {
    auto_mutex::setup_async(url).await?;
    auto_mutex_fence::ready(&mut pool.begin().await?).await?;
    Ok(())
}

/// `prover().prove(setup, write)` takes no notice of these.
fn prover() -> Prover<'static> {
    Prover {
        ignore: &["audit", "invoice.updated_at"],
        ..Prover::default()
    }
}

/// The example of `fence/README.md`.
async fn change(guard: &MutexGuard, pool: &PgPool) -> Result<(), Box<dyn Error>> {
    let mut tx = pool.begin().await?;
    guard.fence(&mut tx).await?; // Err(FenceError::Stale { .. }) if a later holder has written
    sqlx::query("UPDATE report SET total = 7")
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

type Step = Box<dyn FnOnce() -> i32>;

thread_local! {
    /// What happens in the middle of the next job of this thread.
    static MIDDLE: RefCell<Option<Step>> = const { RefCell::new(None) };
}

fn sum_up(month: i32) -> i32 {
    MIDDLE.take().map_or(month * 100, |step| step())
}

/// The chapter's code blocks of a kind, such as `sql`.
fn blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    let after = CHAPTER.split(fence.as_str()).skip(1);
    after
        .filter_map(|rest| rest.split("\n```").next())
        .collect()
}

const TABLE: &str = "CREATE TABLE report (month INT PRIMARY KEY, total INT);
    INSERT INTO report VALUES (5, 0)";

#[tokio::test]
async fn an_async_job_that_lost_its_lock_writes_nothing() {
    let pool = PgPool::connect(&postgres::url().await).await.unwrap();
    sqlx::raw_sql(TABLE).execute(&pool).await.unwrap();
    let total = async || {
        let query = sqlx::query_scalar::<_, i32>("SELECT total FROM report");
        query.fetch_one(&pool).await.unwrap()
    };
    let redis = Redis::start();
    let [here, there] = [(); 2].map(|()| Client::connect(redis.url()).unwrap());
    here.scope(close(&pool, 5)).await.unwrap();
    assert_eq!(total().await, 500);
    // Each job writes with a greater token.
    there.scope(close(&pool, 5)).await.unwrap();

    let guard = there.mutex("by-hand").lock().await.unwrap();
    change(&guard, &pool).await.unwrap();
    assert_eq!(total().await, 7);

    let breaker = there.clone();
    MIDDLE.set(Some(Box::new(move || {
        let name = auto_mutex::current().unwrap().name().to_owned();
        assert!(breaker.mutex(name).blocking_force_unlock().unwrap());
        eventually("the loss is known", || auto_mutex::current().is_err());
        9
    })));
    let error = here.scope(close(&pool, 5)).await.unwrap_err();
    let error = error.downcast::<LockError>().unwrap();
    assert!(matches!(*error, LockError::Lost { .. }), "{error:?}");
    assert_eq!(total().await, 7);
}

#[tokio::test]
async fn times_and_attempts_are_left_out_of_a_proof() {
    let write = async |url: String, token: Token| -> prove::Done {
        let mut db = PgConnection::connect(&url).await?;
        let attempt = "INSERT INTO audit VALUES ($1, now())";
        prove::execute(&mut db, attempt, &token).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        let write = "UPDATE invoice SET total = $1, updated_at = now()";
        prove::execute(&mut tx, write, &token).await?;
        Ok(tx.commit().await?)
    };
    let setup = async || prove::setup("left_out").await;
    let proof = prover().prove(setup, write).await.unwrap();
    assert!(proof.schedules > 20, "{proof:?}");
}

#[tokio::test]
async fn the_start_finds_a_missing_table() {
    let pool = PgPool::connect(&postgres::url().await).await.unwrap();
    sqlx::raw_sql("DROP TABLE auto_mutex_fence")
        .execute(&pool)
        .await
        .unwrap();
    let redis = Redis::start();
    let error = start(&redis.url(), &pool).await.unwrap_err();
    let error = error.downcast::<FenceError>().unwrap();
    assert!(
        matches!(*error, FenceError::MissingTable { .. }),
        "{error:?}"
    );
    let create = sqlx::raw_sql(Dialect::Postgres.migration());
    create.execute(&pool).await.unwrap();
    auto_mutex_fence::ready(&mut pool.begin().await.unwrap())
        .await
        .unwrap();
}

#[test]
fn a_blocking_job_that_is_too_late_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("db");
    let open = || Connection::open(&file).unwrap();
    let mut db = open();
    db.execute_batch(TABLE).unwrap();
    db.execute_batch(Dialect::Sqlite.migration()).unwrap();
    let redis = Redis::start();
    let [here, there] = [(); 2].map(|()| Client::connect(redis.url()).unwrap());
    // As if the process were suspended: it loses the lock, and another one does the job.
    let mut their_db = open();
    MIDDLE.set(Some(Box::new(move || {
        let name = auto_mutex::current().unwrap().name().to_owned();
        assert!(there.mutex(name).blocking_force_unlock().unwrap());
        let job = move || there.blocking_scope(|| close_here(&mut their_db, 5).unwrap());
        std::thread::spawn(job).join().unwrap();
        7
    })));
    let error = here.blocking_scope(|| close_here(&mut db, 5)).unwrap_err();
    let error = error.downcast::<FenceError>().unwrap();
    // It may have heard of its loss in time.
    use FenceError::{Lost, Stale};
    assert!(matches!(*error, Stale { .. } | Lost { .. }), "{error:?}");
    let ask = "SELECT total FROM report";
    let total: i32 = db.query_row(ask, [], |row| row.get(0)).unwrap();
    assert_eq!(total, 500);
}

/// Other drivers and languages can use the statement, and old rows can go.
#[tokio::test]
async fn the_sql_of_the_chapter_works() {
    let [check, delete] = blocks("sql")[..] else {
        panic!("other SQL");
    };
    let pool = PgPool::connect(&postgres::url().await).await.unwrap();
    let newest = async |name: &str, token: i64| {
        let query = sqlx::query_scalar::<_, i64>(check).bind(name).bind(token);
        query.fetch_one(&pool).await.unwrap()
    };
    for (token, known) in [(7, 7), (9, 9), (8, 9)] {
        assert_eq!(newest("a", token).await, known);
    }
    let redis = Redis::start();
    let client = Client::connect(redis.url()).unwrap();
    let guard = client.mutex("new").lock().await.unwrap();
    guard.fence(&mut pool.begin().await.unwrap()).await.unwrap();
    let token = i64::try_from(guard.fencing_token()).unwrap();
    assert_eq!(newest("new", token).await, token);
    let deleted = pool.execute(delete).await.unwrap();
    assert_eq!(deleted.rows_affected(), 1);
    assert_eq!(newest("a", 1).await, 1, "the row is new");
    assert_eq!(newest("new", 1).await, token, "the row is still there");
}
