//! PostgreSQL with tokio-postgres. It runs the same statement as sqlx does.

use auto_mutex_fence::{Fence, FenceError};
use auto_mutex_tests::events::{becomes, soon};
use tokio_postgres::{Client, IsolationLevel, NoTls};

use crate::{postgres, stale, token};

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn the_next_holder_waits_for_the_commit_and_the_first_is_refused_then() {
    let url = postgres::url().await;
    let [mut here, mut there] = [connect(&url).await, connect(&url).await];
    let seen = connect(&url).await;
    let first = here.transaction().await.unwrap();
    token(1).fence(&first).await.unwrap();
    let work = async {
        let mut next = there.transaction().await.unwrap();
        token(2).fence(&mut next).await.unwrap();
        next.execute("UPDATE work SET value = value + 1", &[])
            .await
            .unwrap();
        next.commit().await.unwrap();
    };
    let until_commit = async {
        let sql = "SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN \
             (SELECT pid FROM pg_stat_activity WHERE query LIKE '%auto_mutex_fence%' AND pid <> pg_backend_pid())";
        becomes("the check waits for the row", async || {
            !seen.query(sql, &[]).await.unwrap().is_empty()
        })
        .await;
        first
            .execute("UPDATE work SET value = 1", &[])
            .await
            .unwrap();
        first.commit().await.unwrap();
    };
    soon("both end", async { tokio::join!(work, until_commit) }).await;
    let row = seen.query_one("SELECT value FROM work", &[]).await.unwrap();
    assert_eq!(row.get::<_, i32>(0), 2);
    let late = here.transaction().await.unwrap();
    assert_eq!(stale(token(1).fence(&late).await), (1, 2));
}

#[tokio::test]
async fn its_errors_have_their_kinds() {
    let url = postgres::url().await;
    let [mut here, mut there] = [connect(&url).await, connect(&url).await];
    let build = here.build_transaction();
    let late = build.isolation_level(IsolationLevel::RepeatableRead);
    let late = late.start().await.unwrap();
    late.query("SELECT * FROM work", &[]).await.unwrap();
    let next = there.transaction().await.unwrap();
    token(2).fence(&next).await.unwrap();
    next.commit().await.unwrap();
    let result = token(1).fence(&late).await;
    assert!(
        matches!(result, Err(FenceError::Conflict { .. })),
        "{result:?}"
    );
    drop(late);
    here.execute("DROP TABLE auto_mutex_fence", &[])
        .await
        .unwrap();
    let tx = here.transaction().await.unwrap();
    let result = token(3).fence(&tx).await;
    assert!(
        matches!(result, Err(FenceError::MissingTable { .. })),
        "{result:?}"
    );
    let result = token(3).fence(&tx).await;
    assert!(
        matches!(result, Err(FenceError::Resource { .. })),
        "{result:?}"
    );
}
