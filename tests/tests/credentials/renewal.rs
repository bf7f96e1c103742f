//! New credentials on living connections: the servers see another user on the same connection, under load, and no call
//! fails.

use std::collections::BTreeMap;
use std::time::Duration;

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{becomes, eventually, soon};
use auto_mutex_tests::redis::{Options, Redis};

use crate::keeper::Keeper;
use crate::rig::{Ground, users};
use crate::rotation::Load;

/// The lifetime of a token in these tests: it is renewed after four fifths of it.
const LIFE: Duration = Duration::from_secs(3);
/// On a slow machine a connection may be lost during an attempt. Then the attempt is repeated.
const ATTEMPTS: usize = 5;

type Users = Vec<BTreeMap<String, String>>;

fn all_users(ground: &Ground) -> Users {
    ground.all().into_iter().map(users).collect()
}

fn are_all(all: &Users, user: &str) -> bool {
    let mut seen = all.iter().flat_map(BTreeMap::values);
    seen.all(|it| it == user)
}

/// Waits until `make` has changed the users of all connections without replacing the connections.
async fn changes_users(ground: &Ground, keeper: &Keeper, load: &Load, make: impl Fn()) {
    for attempt in 0..ATTEMPTS {
        let user = ["two", "one"][attempt % 2];
        let before = all_users(ground);
        keeper.set(user, "secret");
        make();
        becomes("all connections have the other user", async || {
            are_all(&all_users(ground), user)
        })
        .await;
        load.gets_on().await;
        let after = all_users(ground);
        let ids = |users: &Users| -> Vec<Vec<String>> {
            users
                .iter()
                .map(|it| it.keys().cloned().collect())
                .collect()
        };
        if ids(&before) == ids(&after) && are_all(&before, ["one", "two"][attempt % 2]) {
            return;
        }
    }
    panic!("it always takes a new connection");
}

/// Checks that all connections of a client get new tokens before the old ones expire.
async fn is_renewed(ground: Ground, connections: usize, more: impl Fn(Config) -> Config) {
    let keeper = Keeper::new("one", "secret");
    keeper.set_life(LIFE);
    for user in ["one", "two"] {
        ground.allow(user, "secret");
    }
    let client = Client::connect(more(ground.config(&keeper))).unwrap();
    let held = client.mutex("held").lock().await.unwrap();
    becomes("all connections are there", async || {
        all_users(&ground).iter().map(BTreeMap::len).sum::<usize>() == connections
    })
    .await;
    let load = Load::begin(&[client]);
    changes_users(&ground, &keeper, &load, || {}).await;
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
async fn when_the_provider_recalls_them() {
    let ground = Ground::one();
    let keeper = Keeper::new("one", "secret");
    for user in ["one", "two"] {
        ground.allow(user, "secret");
    }
    let client = ground.client(&keeper);
    let load = Load::begin(&[client]);
    changes_users(&ground, &keeper, &load, || keeper.recall()).await;
    load.end().await;
}
