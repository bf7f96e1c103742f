//! SQLite, which has one writer at a time, with rusqlite and sqlx.

use std::path::Path;
use std::time::Duration;

use auto_mutex::{Client, LockError, Term};
use auto_mutex_fence::{Dialect, Fence, FenceError, FencedPut, FencedScript, Token};
use auto_mutex_tests::events::{becomes, finishes};
use object_store::memory::InMemory;
use rusqlite::{Connection, TransactionBehavior};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;

use crate::{stale, token};

const JOURNALS: [&str; 2] = ["wal", "delete"];
/// It fails after a fence, and ends the transaction.
const ROLLBACK: &str = "INSERT OR ROLLBACK INTO auto_mutex_fence VALUES ('shop:report', 1)";

fn database(journal: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let ask = format!("PRAGMA journal_mode = {journal}");
    let set: String = db.query_row(&ask, [], |row| row.get(0)).unwrap();
    assert_eq!(set, journal);
    db.execute_batch(Dialect::Sqlite.migration()).unwrap();
    db.execute_batch("CREATE TABLE work (value INT); INSERT INTO work VALUES (0)")
        .unwrap();
    dir
}

fn open(dir: &Path) -> Connection {
    let db = Connection::open(dir.join("db")).unwrap();
    db.busy_timeout(Duration::from_secs(60)).unwrap();
    db
}

async fn open_with_sqlx(dir: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(dir.join("db"));
    let options = options.journal_mode(SqliteJournalMode::Wal);
    SqliteConnection::connect_with(&options).await.unwrap()
}

fn write(db: &Connection, value: i64) {
    db.execute("UPDATE work SET value = ?1", [value]).unwrap();
}

fn read(db: &Connection) -> i64 {
    db.query_row("SELECT value FROM work", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_stale_transaction_can_not_write_and_the_same_holder_can_again() {
    for journal in JOURNALS {
        let dir = database(journal);
        let mut db = open(dir.path());
        for value in [2, 3] {
            let tx = db.transaction().unwrap();
            token(2).fence(&tx).unwrap();
            write(&tx, value);
            tx.commit().unwrap();
        }
        let mut tx = db.transaction().unwrap();
        assert_eq!(stale(token(1).fence(&mut tx)), (1, 2));
        drop(tx);
        assert_eq!(read(&db), 3);
        // A rolled back fence leaves nothing.
        let tx = db.transaction().unwrap();
        token(9).fence(&tx).unwrap();
        drop(tx);
        token(2).fence(&db.transaction().unwrap()).unwrap();
    }
}

#[test]
fn the_next_holder_waits_for_the_commit_and_then_wins() {
    for journal in JOURNALS {
        let dir = database(journal);
        let mut db = open(dir.path());
        let first = db.transaction().unwrap();
        token(1).fence(&first).unwrap();
        write(&first, 1);
        let mut other = open(dir.path());
        other.busy_timeout(Duration::ZERO).unwrap();
        refused!(token(2).fence(&other.transaction().unwrap()), Conflict);
        let path = dir.path().to_owned();
        let (begins, begun) = std::sync::mpsc::channel();
        let next = std::thread::spawn(move || {
            let mut db = open(&path);
            let tx = db.transaction().unwrap();
            begins.send(()).unwrap();
            token(2).fence(&tx).unwrap();
            write(&tx, read(&tx) + 1);
            tx.commit().unwrap();
        });
        begun.recv().unwrap();
        first.commit().unwrap();
        finishes("the next holder", move || next.join().unwrap());
        assert_eq!(read(&db), 2);
        assert_eq!(stale(token(1).fence(&db.transaction().unwrap())), (1, 2));
    }
}

/// Waiting would not help: such a transaction has to start again.
#[test]
fn what_has_read_before_another_has_written_conflicts() {
    let dir = database("wal");
    let [mut here, mut there] = [open(dir.path()), open(dir.path())];
    let late = here.transaction().unwrap();
    assert_eq!(read(&late), 0);
    let next = there.transaction().unwrap();
    token(2).fence(&next).unwrap();
    write(&next, 2);
    next.commit().unwrap();
    refused!(token(3).fence(&late), Conflict);
    drop(late);

    let again = TransactionBehavior::Immediate;
    let again = here.transaction_with_behavior(again).unwrap();
    assert_eq!(read(&again), 2);
    token(3).fence(&again).unwrap();
}

#[test]
fn a_connection_is_fenced_only_in_a_transaction() {
    let dir = database("wal");
    let mut db = open(dir.path());
    refused!(token(1).fence(&db), NoTransaction);
    let several = [token(1), Token::new("b", 1)];
    let tx = db.transaction().unwrap();
    several.fence(&*tx).unwrap();
    tx.commit().unwrap();
    let tx = db.transaction().unwrap();
    Token::new("b", 7).fence(&tx).unwrap();
    assert_eq!(stale(several.fence(&tx)), (1, 7));
    drop(tx);
    let tx = db.transaction().unwrap();
    tx.execute(ROLLBACK, []).unwrap_err();
    refused!(token(1).fence(&tx), NoTransaction);
}

#[test]
fn without_its_table_it_says_how_to_create_it() {
    let mut db = Connection::open_in_memory().unwrap();
    let client = Client::connect("memory://").unwrap();
    let ready = |db: &Connection| client.blocking_scope(|| auto_mutex_fence::blocking_ready(db));
    let tx = db.transaction().unwrap();
    refused!(ready(&tx), MissingTable);
    tx.execute_batch(Dialect::Sqlite.migration()).unwrap();
    ready(&tx).unwrap();
    drop(tx);
    let error = token(1).fence(&db.transaction().unwrap()).unwrap_err();
    let how = "create it with `auto-mutex fence --dialect sqlite`";
    assert!(error.to_string().ends_with(how), "{error}");
}

#[tokio::test]
async fn sqlx_does_the_same() {
    let dir = database("wal");
    let mut here = open_with_sqlx(dir.path()).await;
    let mut there = open_with_sqlx(dir.path()).await;
    refused!(token(1).fence(&mut here).await, NoTransaction);
    let mut late = here.begin().await.unwrap();
    late.execute("SELECT value FROM work").await.unwrap();
    let mut next = there.begin_with("BEGIN IMMEDIATE").await.unwrap();
    token(2).fence(&mut next).await.unwrap();
    next.execute("UPDATE work SET value = 2").await.unwrap();
    next.commit().await.unwrap();
    refused!(token(3).fence(&mut late).await, Conflict);
    drop(late);

    let mut late = here.begin().await.unwrap();
    assert_eq!(stale(token(1).fence(&mut late).await), (1, 2));
    token(2).fence(&mut late).await.unwrap();
    late.execute("DROP TABLE auto_mutex_fence").await.unwrap();
    refused!(token(2).fence(&mut late).await, MissingTable);
    drop(late);

    let mut late = here.begin().await.unwrap();
    token(2).fence(&mut late).await.unwrap();
    late.execute(ROLLBACK).await.unwrap_err();
    refused!(token(2).fence(&mut late).await, NoTransaction);
}

/// Nobody is asked: there is neither a transaction nor a table.
#[tokio::test]
async fn a_guard_that_has_lost_its_lock_is_refused_at_once() {
    let client = Client::connect("memory://").unwrap();
    let db = Connection::open_in_memory().unwrap();
    let mutex = client.mutex("report");
    let guard = mutex.lock().await.unwrap();
    refused!(guard.fence(&db), NoTransaction);
    assert!(mutex.force_unlock().await.unwrap());
    becomes("the loss is known", async || guard.check().is_err()).await;
    refused!(guard.fence(&db), Lost);
    let store = InMemory::new();
    refused!(guard.fence(FencedPut::new(&store, "a", "")).await, Lost);
    refused!(FencedScript::new("").call(&guard, "report").map(drop), Lost);
}

#[test]
fn all_that_nobody_shares_can_be_fenced() {
    let dir = database("wal");
    let mut db = open(dir.path());
    let client = Client::connect("memory://").unwrap();
    let mut rows = |fence: &dyn Fn(&Connection) -> Result<(), FenceError>| {
        let tx = db.transaction().unwrap();
        fence(&tx).map(|()| {
            let all = "SELECT group_concat(name), min(token) FROM auto_mutex_fence";
            let read = tx.query_row(all, [], |row| Ok((row.get(0)?, row.get(1)?)));
            read.unwrap()
        })
    };
    let mut checks =
        |name: &str, token: u64, fence: &dyn Fn(&Connection) -> Result<(), FenceError>| {
            let found = (name.to_owned(), token.cast_signed());
            assert_eq!(rows(fence).unwrap(), found);
        };

    let both = client.multi(["b", "a"]).blocking_lock().unwrap();
    let least = both.fencing_token_of("a").min(both.fencing_token_of("b"));
    checks("a,b", least.unwrap(), &|db| both.fence(db));
    let lock = client.rw_lock("rw");
    let guard = lock.blocking_write().unwrap();
    checks("rw", guard.fencing_token(), &|db| guard.fence(db));
    drop(guard);
    let permit = client.semaphore("one", 1).blocking_acquire().unwrap();
    checks("one", permit.fencing_token(), &|db| permit.fence(db));
    let lead = client.leader("seat").blocking_lead(|term: &Term| {
        checks("seat", term.number(), &|db| term.fence(db));
        let current = auto_mutex::current()?;
        checks("seat", term.number(), &|db| current.fence(db));
        Ok::<_, LockError>(())
    });
    lead.unwrap();

    // Others may hold these at the same time.
    let permit = client.semaphore("two", 2).blocking_acquire().unwrap();
    let error = rows(&|db| permit.fence(db)).unwrap_err().to_string();
    let which = "`two` is shared with other holders, so it has no fencing token";
    assert!(error.starts_with(which), "{error}");
    let read = lock.blocking_synchronize_read(|_| {
        let current = auto_mutex::current().unwrap();
        rows(&|db| current.fence(db))
    });
    let error = read.unwrap().unwrap_err().to_string();
    assert!(error.starts_with("`rw` is shared"), "{error}");
}
