//! PostgreSQL with tokio-postgres. It runs the same statement as sqlx does.

use auto_mutex_fence::Fence;
use tokio_postgres::{Client, IsolationLevel, NoTls};

use crate::{postgres, token};

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
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
    refused!(token(1).fence(&late).await, Conflict);
    drop(late);
    let remove = "DROP TABLE auto_mutex_fence";
    here.execute(remove, &[]).await.unwrap();
    let tx = here.transaction().await.unwrap();
    refused!(token(3).fence(&tx).await, MissingTable);
    refused!(token(3).fence(&tx).await, Resource);
}
