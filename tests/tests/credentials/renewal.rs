//! New credentials on living connections: the servers see another user on the same connection, under load, and no call
//! fails.

use std::collections::BTreeMap;
use std::time::Duration;

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{becomes, eventually, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};

use crate::keeper::Keeper;
use crate::rig::{Ground, users};
use crate::rotation::Load;

/// The lifetime of a token: it is renewed after four fifths of it.
const LIFE: Duration = Duration::from_secs(3);

type Users = Vec<BTreeMap<String, String>>;

fn all_users(ground: &Ground) -> Users {
    ground.all().into_iter().map(users).collect()
}

fn are_all(all: &Users, user: &str) -> bool {
    let mut seen = all.iter().flat_map(BTreeMap::values);
    seen.all(|it| it == user)
}

/// Waits until the users of all connections have changed, and checks that these are the same connections.
async fn changes_users(ground: &Ground, load: &Load, make: impl Fn()) {
    let before = all_users(ground);
    make();
    becomes("all connections have the other user", async || {
        are_all(&all_users(ground), "two")
    })
    .await;
    load.gets_on().await;
    let ids = |users: Users| -> Vec<Vec<String>> {
        let ids = users.into_iter().map(|it| it.into_keys().collect());
        ids.collect()
    };
    assert_eq!(ids(before), ids(all_users(ground)));
}

/// Checks that all connections of a client get new credentials when the provider recalls the old ones.
async fn is_renewed(ground: Ground, connections: usize, more: impl Fn(Config) -> Config) {
    let keeper = Keeper::new("one", "secret");
    are_replaced(&ground, &keeper, connections, more, || {
        keeper.set("two", "secret");
        keeper.recall();
    })
    .await;
}

/// Checks that all connections of a client get the credentials that `make` gives to the keeper.
async fn are_replaced(
    ground: &Ground,
    keeper: &Keeper,
    connections: usize,
    more: impl Fn(Config) -> Config,
    make: impl Fn(),
) {
    for user in ["one", "two"] {
        ground.allow(user, "secret");
    }
    let client = Client::connect(more(ground.config(keeper))).unwrap();
    let held = client.mutex("held").lock().await.unwrap();
    becomes("all connections are there", async || {
        all_users(ground).iter().map(BTreeMap::len).sum::<usize>() == connections
    })
    .await;
    let load = Load::begin(&[client]);
    changes_users(ground, &load, make).await;
    load.end().await;
    held.check().expect("the lock is not lost");
    assert!(soon("released", held.unlock()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_server() {
    is_renewed(Ground::one(), 1, |config| config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_server_and_the_sentinel_that_is_listened_to() {
    is_renewed(Ground::sentinel(), 2, |config| config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_each_primary_of_a_cluster() {
    is_renewed(Ground::cluster(), 3, |config| config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_each_member_of_a_quorum() {
    is_renewed(Ground::quorum(), 5, |config| config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_connection_that_counts_replicas() {
    let ground = Ground::one();
    let Ground::One(primary) = &ground else {
        unreachable!();
    };
    let line = format!("replicaof 127.0.0.1 {}", primary.port());
    let _replica = Redis::with(Options::default().line(&line).line("masterauth admin"));
    eventually("the replica is in step", || {
        primary.info("slave0").contains("state=online")
    });
    is_renewed(ground, 2, |config| config.replicas(1, "20s")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_they_expire() {
    let _watch = real_time();
    let (ground, keeper) = (Ground::one(), Keeper::new("one", "secret"));
    keeper.set_life(LIFE);
    let gives_another = || keeper.set("two", "secret");
    are_replaced(&ground, &keeper, 1, |config| config, gives_another).await;
}
