//! What an operator sees.

use auto_mutex_core::store::{Mode, Name, Ticket};
use auto_mutex_core::{AfterFailover, AfterRestart, Eviction};

use super::peer::{Peer, acquire, engine, options, release};
use super::server::shared;

#[tokio::test]
async fn an_operator_sees_the_names_and_the_server() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let mut reader = engine(&url).reader(&options());
    reader.connect().await.unwrap();
    assert!(reader.scan(0, None, "0").await.unwrap().keys.is_empty());
    let names = ["none"].map(Name::from_escaped);
    assert!(reader.inspect(&names).await.unwrap().names[0].is_ok());
    assert!(reader.describe().await[0].is_ok());
    let mut peer = Peer::new(&url).await;
    let (held, token) = peer.holds("app:held").await;
    let waiting = Ticket::random();
    peer.ask("app:held", acquire(waiting, Mode::Queue))
        .await
        .unwrap();
    let (idle, _) = peer.holds("app:idle").await;
    peer.ask("app:idle", release(idle)).await.unwrap();
    for number in 0..1100 {
        let (ticket, _) = peer.holds(&format!("many:{number}")).await;
        peer.submit(&format!("many:{number}"), release(ticket));
        peer.event().await;
    }
    reader.connect().await.unwrap();
    let (mut cursor, mut all) = (Some("0".to_owned()), Vec::new());
    while let Some(from) = cursor {
        let page = reader.scan(0, Some("app:*"), &from).await.unwrap();
        all.extend(page.keys);
        cursor = page.next;
    }
    let found: Vec<_> = all
        .iter()
        .map(|key| (key.name.clone().unwrap(), key.idle))
        .collect();
    assert_eq!(
        found,
        [
            ("app:held".to_owned(), false),
            ("app:idle".to_owned(), true)
        ]
    );

    let names = ["app:held", "app:idle", "none"].map(Name::from_escaped);
    let snapshot = reader.inspect(&names).await.unwrap();
    assert!(snapshot.now >= token);
    let [held_state, idle_state, none] = &snapshot.names[..] else {
        panic!("not three");
    };
    let held_state = held_state.as_ref().unwrap();
    assert_eq!(held_state.holders[0].ticket, held);
    assert_eq!(held_state.waiters[0].ticket, waiting);
    assert_eq!(held_state.waiters[0].token, 0);
    assert!(idle_state.as_ref().unwrap().exists);
    assert!(!none.as_ref().unwrap().exists);

    let described = reader.describe().await;
    let described = described[0].as_ref().unwrap();
    assert!(described.version.as_ref().unwrap().starts_with("1"));
    assert_eq!(described.guarantees, peer.store.guarantees());
    assert!(described.clock_ahead_ms.unwrap().abs() < 10_000);
    let guarantees = peer.store.guarantees();
    // The server of the tests runs with `fsync=off`.
    assert_eq!(guarantees.restart, AfterRestart::LastForgotten);
    assert_eq!(guarantees.failover, AfterFailover::NoReplicas);
    assert_eq!(guarantees.eviction, Eviction::Never);
    peer.end().await;
}
