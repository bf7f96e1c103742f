//! The provider is asked for every connection, and told the kind of server.

use std::collections::BTreeSet;

use auto_mutex::ServerKind;
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::redis::Redis;

use crate::keeper::Keeper;
use crate::rig::Ground;

/// Connects and takes a lock; returns the servers for which the provider was asked.
async fn asked(ground: &Ground) -> BTreeSet<(Kind, u16)> {
    let keeper = Keeper::new("locks", "secret");
    ground.allow("locks", "secret");
    let client = ground.client(&keeper);
    drop(soon("granted", client.mutex("m").lock()).await.unwrap());
    // The connections to the sentinels, and some connections of a quorum, may be made a little after the grant.
    let expected = ground.all().len();
    let all = || -> BTreeSet<_> {
        let asked = keeper.asked().into_iter();
        asked
            .map(|it| (it.kind().into(), it.port().unwrap()))
            .collect()
    };
    becomes("it is asked for all", async || all().len() >= expected).await;
    for server in keeper.asked() {
        assert_eq!(server.host(), "127.0.0.1");
        let port = server.port().unwrap();
        assert_eq!(server.to_string(), format!("127.0.0.1:{port}"));
    }
    all()
}

/// A [`ServerKind`] with an order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind(String);

impl From<ServerKind> for Kind {
    fn from(kind: ServerKind) -> Self {
        Self(format!("{kind:?}"))
    }
}

fn of(kind: ServerKind, servers: &[&Redis]) -> BTreeSet<(Kind, u16)> {
    servers.iter().map(|it| (kind.into(), it.port())).collect()
}

/// Set-up blocks the only thread of this runtime, so the library must run the provider on another thread.
#[tokio::test]
async fn for_a_server() {
    let ground = Ground::one();
    let expected = of(ServerKind::Server, &ground.servers());
    assert_eq!(asked(&ground).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn for_sentinels_which_have_credentials_of_their_own_and_their_primary() {
    let ground = Ground::sentinel();
    let mut expected = of(ServerKind::Server, &ground.servers());
    let sentinels: Vec<_> = ground.sentinels().iter().collect();
    expected.extend(of(ServerKind::Sentinel, &sentinels));
    assert_eq!(asked(&ground).await, expected);
    // The sentinels need another password than the server.
    let keeper = Keeper::new("locks", "secret");
    keeper.set_of_sentinels("another");
    for sentinel in sentinels {
        sentinel.command(&["ACL", "SETUSER", "locks", "resetpass", ">another"]);
    }
    let client = ground.client(&keeper);
    drop(soon("granted", client.mutex("m").lock()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn for_each_node_of_a_cluster() {
    let ground = Ground::cluster();
    let expected = of(ServerKind::ClusterNode, &ground.servers());
    assert_eq!(asked(&ground).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn for_each_member_of_a_quorum() {
    let ground = Ground::quorum();
    let expected = of(ServerKind::QuorumMember, &ground.servers());
    assert_eq!(asked(&ground).await, expected);
}
