//! PostgreSQL with sqlx.

use std::sync::LazyLock;

use auto_mutex_fence::Dialect;
use auto_mutex_tests::databases::{self, IN_A_HURRY, Server};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgConnection, PgPool, Postgres};

use crate::fresh_name;

const DIALECT: Dialect = Dialect::Postgres;
pub(crate) const READ_COMMITTED: &str = "READ COMMITTED";
pub(crate) const ISOLATIONS: [&str; 3] = [READ_COMMITTED, "REPEATABLE READ", "SERIALIZABLE"];
/// A transaction is refused if its snapshot is older than the row.
const SNAPSHOTS_CONFLICT: bool = true;

pub(crate) static SERVER: LazyLock<Server> =
    LazyLock::new(|| databases::postgres(&IN_A_HURRY).expect("PostgreSQL"));

/// A URL with a schema of its own, which has the tables.
pub(crate) async fn url() -> String {
    let schema = fresh_name();
    let pool = PgPool::connect(&SERVER.url("postgres")).await.unwrap();
    let create = format!("CREATE SCHEMA {schema}");
    pool.execute(&*create).await.unwrap();
    let url = SERVER.url("postgres");
    let url = format!("{url}&options=-csearch_path%3D{schema}");
    let pool = PgPool::connect(&url).await.unwrap();
    pool.execute(DIALECT.migration()).await.unwrap();
    let work = "CREATE TABLE work (id INT PRIMARY KEY, value INT); INSERT INTO work VALUES (1, 0)";
    pool.execute(work).await.unwrap();
    url
}

struct Db {
    url: String,
    pool: PgPool,
}

impl Db {
    async fn new() -> Self {
        let url = url().await;
        let pool = PgPool::connect(&url).await.unwrap();
        Self { url, pool }
    }

    async fn pool(&self, isolation: &'static str) -> PgPool {
        let pool = PgPoolOptions::new().after_connect(move |connection, _| {
            Box::pin(async move {
                let set = format!("SET default_transaction_isolation = '{isolation}'");
                connection.execute(&*set).await.map(drop)
            })
        });
        pool.connect(&self.url).await.unwrap()
    }

    async fn waits(&self, id: i32) -> bool {
        waits(&self.pool, id).await
    }

    async fn kill(&self, id: i32) {
        let query = sqlx::query("SELECT pg_terminate_backend($1)").bind(id);
        query.execute(&self.pool).await.unwrap();
    }
}

pub(crate) async fn waits(pool: &PgPool, id: i32) -> bool {
    let sql =
        "SELECT coalesce(wait_event_type = 'Lock', false) FROM pg_stat_activity WHERE pid = $1";
    let query = sqlx::query_scalar(sql).bind(id);
    query.fetch_one(pool).await.unwrap()
}

pub(crate) async fn id(connection: &mut PgConnection) -> i32 {
    let query = sqlx::query_scalar("SELECT pg_backend_pid()");
    query.fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn who_waits_too_long_may_try_again() {
    let (_, pool) = fresh(READ_COMMITTED).await;
    let _first = fenced(&pool, 1).await;
    let mut next = pool.begin().await.unwrap();
    let limit = "SET LOCAL lock_timeout = '1ms'";
    next.execute(limit).await.unwrap();
    refused!(token(2).fence(&mut next).await, Conflict);
}

#[tokio::test]
async fn rights_that_are_missing_are_named() {
    let (db, pool) = fresh(READ_COMMITTED).await;
    let role = fresh_name();
    let schema = "format('%I', current_schema)";
    let create = format!(
        "DO $$ BEGIN CREATE ROLE {role} LOGIN; EXECUTE 'GRANT USAGE ON SCHEMA ' || {schema} || ' TO {role}'; END $$"
    );
    pool.execute(&*create).await.unwrap();
    let theirs = db.url.replace("test@", &format!("{role}@"));
    let theirs = PgPool::connect(&theirs).await.unwrap();
    let refused = token(1).fence(&mut theirs.begin().await.unwrap()).await;
    let error = refused.unwrap_err();
    let text = "run `GRANT SELECT, INSERT, UPDATE ON auto_mutex_fence TO` this role";
    assert!(error.to_string().ends_with(text), "{error}");
    let grant = format!("GRANT SELECT, INSERT, UPDATE ON auto_mutex_fence TO {role}");
    pool.execute(&*grant).await.unwrap();
    let mut tx = theirs.begin().await.unwrap();
    token(1).fence(&mut tx).await.unwrap();
}

crate::cases::cases!(Postgres, PgConnection);
