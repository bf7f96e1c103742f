//! sqlx 0.9, beside 0.8, with which all other tests run: both get the same code.

use auto_mutex_fence::{Dialect, Fence};
use sqlx_0_9 as sqlx;

use crate::{mariadb, postgres, stale, token};

macro_rules! fences {
    ($name:ident, $connection:ty, $dialect:ident, $url:expr) => {
        #[tokio::test]
        async fn $name() {
            use sqlx::{Connection as _, Executor as _};
            let mut db = <$connection>::connect(&$url).await.unwrap();
            refused!(token(1).fence(&mut db).await, NoTransaction);
            db.execute("DROP TABLE IF EXISTS auto_mutex_fence")
                .await
                .unwrap();
            let mut tx = db.begin().await.unwrap();
            refused!(token(1).fence(&mut tx).await, MissingTable);
            tx.rollback().await.unwrap();
            db.execute(Dialect::$dialect.migration()).await.unwrap();
            for number in [1, 2] {
                let mut tx = db.begin().await.unwrap();
                token(number).fence(&mut tx).await.unwrap();
                tx.commit().await.unwrap();
            }
            let mut tx = db.begin().await.unwrap();
            assert_eq!(stale(token(1).fence(&mut tx).await), (1, 2));
        }
    };
}
fences!(
    postgres,
    sqlx::PgConnection,
    Postgres,
    postgres::url().await
);
fences!(mysql, sqlx::MySqlConnection, Mysql, mariadb::url().await);
fences!(sqlite, sqlx::SqliteConnection, Sqlite, "sqlite::memory:");
