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

impl Db {
    /// With a database of its own, which has the tables.
    async fn new() -> Self {
        let name = fresh_name();
        let pool = MySqlPool::connect(&SERVER.url("test")).await.unwrap();
        let create = format!("CREATE DATABASE {name}");
        pool.execute(&*create).await.unwrap();
        let url = SERVER.url(&name);
        let pool = MySqlPool::connect(&url).await.unwrap();
        pool.execute(DIALECT.migration()).await.unwrap();
        let work = "CREATE TABLE work (id INT PRIMARY KEY, value INT) ENGINE = InnoDB";
        pool.execute(work).await.unwrap();
        pool.execute("INSERT INTO work VALUES (1, 0)")
            .await
            .unwrap();
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
    let db = Db::new().await;
    let pool = db.pool("REPEATABLE READ").await;
    let mut connection = pool.acquire().await.unwrap();
    let set = "SET SESSION innodb_snapshot_isolation = ON";
    connection.execute(set).await.unwrap();
    let mut late = connection.begin().await.unwrap();
    assert_eq!(read(&mut late).await, 0);
    let mut next = pool.begin().await.unwrap();
    token(2).fence(&mut next).await.unwrap();
    next.commit().await.unwrap();
    let result = token(3).fence(&mut late).await;
    let conflict = matches!(result, Err(FenceError::Conflict { .. }));
    assert!(conflict, "{result:?}");
}

crate::cases::cases!(MySql, MySqlConnection);
