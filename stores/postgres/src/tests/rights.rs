//! The schema: who makes it, and who may use it.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::with_sources;

use super::peer::Peer;
use super::server::shared;

#[tokio::test]
async fn of_many_clients_one_makes_the_schema() {
    let server = shared();
    let url = server.url(&server.database().await);
    let opening: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { Peer::open(&url).await.unwrap() })
        })
        .collect();
    for peer in opening {
        let mut peer = peer.await.unwrap();
        peer.works().await;
        peer.end().await;
    }
}

#[tokio::test]
async fn a_user_with_few_rights_needs_the_schema_and_the_grants() {
    let server = shared();
    let database = server.database().await;
    let admin = server.admin(&database).await;
    let role = format!("role_{database}");
    let create = format!("CREATE ROLE {role} LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC");
    admin.batch_execute(&create).await.unwrap();
    let url = format!("{role}@127.0.0.1:{}/{database}", server.port);
    let error = Peer::open(&url).await.err().unwrap();
    assert!(matches!(error, SetupError::Unsuitable { .. }), "{error:?}");
    assert!(error.to_string().contains("auto-mutex schema --postgres"));
    assert!(!with_sources(&error).contains(&role), "{error:?}");

    admin.batch_execute(&crate::schema()).await.unwrap();
    let error = Peer::open(&url).await.err().unwrap();
    assert!(matches!(error, SetupError::Permission { .. }), "{error:?}");

    admin.batch_execute(&crate::grants(&role)).await.unwrap();
    let mut peer = Peer::open(&url).await.unwrap();
    peer.works().await;
    let alter = "ALTER TABLE auto_mutex.names ADD COLUMN more text";
    let user = server.client(&role, &database).await;
    assert!(user.batch_execute(alter).await.is_err());
    peer.end().await;
}

#[tokio::test]
async fn an_older_schema_is_replaced_and_a_newer_or_foreign_one_is_not() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    Peer::new(&url).await.end().await;
    let admin = server.admin(&database).await;
    let comment = |text: &str| format!("COMMENT ON SCHEMA auto_mutex IS '{text}'");
    for (text, part) in [
        ("auto-mutex schema 9999.0", "update the crate auto-mutex"),
        ("something else", "is not of this library"),
    ] {
        admin.batch_execute(&comment(text)).await.unwrap();
        let error = Peer::open(&url).await.err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
    let old = comment("auto-mutex schema 0.7");
    admin.batch_execute(&old).await.unwrap();
    let peer = Peer::new(&url).await;
    assert!(peer.closed.is_some(), "its locks are lost");
    peer.store.close();
}
