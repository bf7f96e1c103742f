//! MariaDB with sqlx.

use std::sync::LazyLock;

use auto_mutex_fence::Dialect;
use auto_mutex_tests::databases::{self, Server};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySql, MySqlConnection, MySqlPool, Row as _};

use crate::fresh_name;

const DIALECT: Dialect = Dialect::Mysql;
const READ_COMMITTED: &str = "READ COMMITTED";
/// (Where reads lock, nothing is special about the check.)
const ISOLATIONS: [&str; 2] = [READ_COMMITTED, "REPEATABLE READ"];
/// What locks a row sees its newest version. (MariaDB 11.6 and newer refuse it, if so configured.)
const SNAPSHOTS_CONFLICT: bool = false;

static SERVER: LazyLock<Server> = LazyLock::new(|| databases::mariadb().expect("MariaDB"));

struct Db {
    url: String,
    pool: MySqlPool,
}

/// A URL with a database of its own.
pub(crate) async fn url() -> String {
    let name = fresh_name();
    let pool = MySqlPool::connect(&SERVER.url("test")).await.unwrap();
    let create = format!("CREATE DATABASE {name}");
    pool.execute(&*create).await.unwrap();
    SERVER.url(&name)
}

impl Db {
    /// With a database of its own, which has the tables.
    async fn new() -> Self {
        let url = url().await;
        let pool = MySqlPool::connect(&url).await.unwrap();
        pool.execute(DIALECT.migration()).await.unwrap();
        let work = "CREATE TABLE work (id INT PRIMARY KEY, value INT) ENGINE = InnoDB";
        pool.execute(work).await.unwrap();
        let row = "INSERT INTO work VALUES (1, 0)";
        pool.execute(row).await.unwrap();
        Self { url, pool }
    }

    async fn pool(&self, isolation: &'static str) -> MySqlPool {
        let pool = MySqlPoolOptions::new().after_connect(move |connection, _| {
            Box::pin(async move {
                let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
                connection.execute(&*set).await.map(drop)
            })
        });
        pool.connect(&self.url).await.unwrap()
    }

    async fn waits(&self, id: u64) -> bool {
        // Not `information_schema.innodb_trx`: who asks often gets what it was at first.
        let status = self.pool.fetch_one("SHOW ENGINE INNODB STATUS");
        let status: String = status.await.unwrap().get(2);
        let id = format!("thread id {id},");
        let mut transactions = status.split("---TRANSACTION");
        transactions.any(|it| it.contains(&id) && it.contains("LOCK WAIT"))
    }

    async fn kill(&self, id: u64) {
        let kill = format!("KILL {id}");
        self.pool.execute(&*kill).await.unwrap();
    }
}

async fn id(connection: &mut MySqlConnection) -> u64 {
    let query = sqlx::query_scalar("SELECT CAST(CONNECTION_ID() AS UNSIGNED)");
    query.fetch_one(connection).await.unwrap()
}

/// As MariaDB 11.6 and newer do by default.
#[tokio::test]
async fn with_snapshot_isolation_an_older_snapshot_conflicts() {
    let (_, pool) = fresh("REPEATABLE READ").await;
    let mut connection = pool.acquire().await.unwrap();
    let set = "SET SESSION innodb_snapshot_isolation = ON";
    connection.execute(set).await.unwrap();
    let mut late = connection.begin().await.unwrap();
    assert_eq!(read(&mut late).await, 0);
    fenced(&pool, 2).await.commit().await.unwrap();
    refused!(token(3).fence(&mut late).await, Conflict);
}

#[tokio::test]
async fn a_second_fence_notices_a_statement_that_commits() {
    let (_, pool) = fresh(READ_COMMITTED).await;
    for commits in "CREATE TABLE other (id INT);LOCK TABLES work WRITE;COMMIT".split(';') {
        let mut tx = fenced(&pool, 1).await;
        tx.execute(commits).await.unwrap();
        refused!(token(1).fence(&mut tx).await, NoTransaction);
        tx.execute("UNLOCK TABLES").await.unwrap();
    }
    let mut tx = fenced(&pool, 1).await;
    tx.execute("START TRANSACTION").await.unwrap();
    write(&mut tx, 1).await;
    let next = soon("the row is free", fenced(&pool, 2)).await;
    next.commit().await.unwrap();
    assert_eq!(stale(token(1).fence(&mut tx).await), (1, 2));
    tx.rollback().await.unwrap();
    assert_eq!(read(&mut pool.acquire().await.unwrap()).await, 0);
}

#[tokio::test]
async fn a_second_fence_notices_that_a_deadlock_ended_the_transaction() {
    let (db, pool) = fresh(READ_COMMITTED).await;
    // InnoDB ends the one that has changed fewer rows.
    let mut next = pool.begin().await.unwrap();
    let more = "INSERT INTO work SELECT seq + 1, 0 FROM seq_1_to_100";
    next.execute(more).await.unwrap();
    write(&mut next, 2).await;
    let mut late = fenced(&pool, 1).await;
    let next = waiting(&db, next, &[token(2)]).await;
    let deadlock = late.execute("UPDATE work SET value = 1 WHERE id = 1");
    let error = deadlock.await.unwrap_err().to_string();
    assert!(error.contains("1213"), "{error}");
    next.end().await.0.unwrap();
    refused!(token(1).fence(&mut late).await, NoTransaction);
}

#[tokio::test]
async fn the_last_insert_id_is_the_programs() {
    let db = Db::new().await;
    let mut tx = db.pool.begin().await.unwrap();
    tx.execute("SELECT LAST_INSERT_ID(7)").await.unwrap();
    for number in [1, 1, 2] {
        token(number).fence(&mut tx).await.unwrap();
        let query = sqlx::query_scalar::<_, u64>("SELECT LAST_INSERT_ID()");
        assert_eq!(query.fetch_one(&mut *tx).await.unwrap(), 7);
    }
}

crate::cases::cases!(MySql, MySqlConnection);
