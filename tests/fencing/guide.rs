//! Runs the guide's chapter on fencing: its SQL on SQLite, and its job with a holder that writes too late. `documents.rs`
//! checks that the chapter shows exactly this job.

use std::error::Error;

use auto_mutex::{Client, auto_mutex};
use rusqlite::Connection;

const CHAPTER: &str = include_str!("../../runtime/src/guide/fencing.md");

const TABLE: &str = "CREATE TABLE report (
    month INTEGER PRIMARY KEY,
    total INTEGER NOT NULL,
    fence INTEGER NOT NULL
)";

const WRITE: &str = "INSERT INTO report (month, total, fence) VALUES (?1, ?2, ?3)
ON CONFLICT (month) DO UPDATE SET total = excluded.total, fence = excluded.fence
WHERE report.fence <= excluded.fence";

/// Sums up a month. `Ok(false)`: a later holder has written before, and this result is refused.
#[auto_mutex(key = month, guard = lock)]
fn close(db: &Connection, month: u32) -> Result<bool, Box<dyn Error>> {
    let total = sum_up(month);
    let token = i64::try_from(lock.fencing_token())?;
    let changed = db.execute(WRITE, (month, total, token))?;
    Ok(changed == 1)
}

fn sum_up(month: u32) -> u32 {
    month * 100
}

/// The chapter's code blocks of a kind, such as `sql`.
fn blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    let after = CHAPTER.split(fence.as_str()).skip(1);
    after
        .filter_map(|rest| rest.split("\n```").next())
        .collect()
}

fn database() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(TABLE).unwrap();
    db
}

/// The total and the fence of a month.
fn row(db: &Connection, month: u32) -> (u32, i64) {
    let ask = "SELECT total, fence FROM report WHERE month = ?1";
    db.query_row(ask, [month], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
}

#[test]
fn the_chapter_shows_the_sql_that_is_run_here() {
    let sql = blocks("sql");
    assert_eq!(sql[..2], [TABLE, WRITE]);
    assert_eq!(sql.len(), 4);
}

#[test]
fn each_run_of_the_job_writes_with_a_greater_token() {
    let (db, client) = (database(), Client::connect("memory://").unwrap());
    assert!(client.blocking_scope(|| close(&db, 5)).unwrap());
    let first = row(&db, 5);
    assert_eq!(first.0, 500);
    assert!(client.blocking_scope(|| close(&db, 5)).unwrap());
    assert!(row(&db, 5).1 > first.1);
}

#[test]
fn a_holder_that_is_too_late_is_refused_and_a_retry_is_not() {
    let db = database();
    let [here, there] = [(); 2].map(|()| Client::connect("memory://fencing").unwrap());
    let late = here.mutex("report").blocking_lock().unwrap();
    let late_token = i64::try_from(late.fencing_token()).unwrap();
    // Simulates a long pause of the first holder: it loses the lock, and another client takes the lock.
    assert!(there.mutex("report").blocking_force_unlock().unwrap());
    let next = there.mutex("report").blocking_lock().unwrap();
    let token = i64::try_from(next.fencing_token()).unwrap();

    let write = |total: u32, token: i64| db.execute(WRITE, (5, total, token)).unwrap();
    assert_eq!(write(2, token), 1);
    assert_eq!(write(1, late_token), 0, "the first holder is refused");
    assert_eq!(row(&db, 5), (2, token));
    assert_eq!(write(3, token), 1, "the same holder may write again");
    assert_eq!(row(&db, 5), (3, token));
}

#[test]
fn a_row_for_each_lock_refuses_who_is_too_late() {
    let db = Connection::open_in_memory().unwrap();
    let sql = blocks("sql");
    db.execute_batch(sql[2]).unwrap();
    let enter = |token: i64| db.execute(sql[3], ("report", token)).unwrap();
    assert_eq!([enter(7), enter(9), enter(9), enter(8)], [1, 1, 1, 0]);
}
