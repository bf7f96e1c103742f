//! Wake-ups of waiters, and the load that they put on the other nodes.

use auto_mutex::{Client, Mutex};
use auto_mutex_tests::cluster::{Cluster, Shape};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::redis::{Options, Redis};

use crate::rig::{client, config, waiters};

/// Two clients that pass a lock back and forth.
struct Pair([Mutex; 2]);

impl Pair {
    fn of(clients: [Client; 2], name: &str) -> Self {
        Self(clients.map(|client| client.mutex(name)))
    }

    /// Passes the lock twice: each client waits once for the other.
    async fn pass(&self) {
        for (holder, waiter) in [(0, 1), (1, 0)] {
            let guard = soon("it is free", self.0[holder].lock()).await.unwrap();
            let waiting = tokio::spawn({
                let mutex = self.0[waiter].clone();
                async move { mutex.lock().await }
            });
            waiters(&self.0[holder], 1).await;
            assert!(guard.unlock().await.unwrap());
            let guard = soon("its turn", waiting).await.unwrap().unwrap();
            assert!(guard.unlock().await.unwrap());
        }
    }

    /// Passes the lock until `node` has a shard channel for each client.
    async fn pass_until_heard(&self, node: &Redis) {
        becomes("both have subscribed", async || {
            self.pass().await;
            channels(node) == 2
        })
        .await;
    }
}

/// Returns the number of shard channels that have subscribers.
fn channels(node: &Redis) -> usize {
    node.command(&["PUBSUB", "SHARDCHANNELS"]).list().len()
}

fn without_replicas() -> Cluster {
    Cluster::with(Shape::default().without_replicas())
}

#[tokio::test]
async fn who_waits_again_and_again_costs_the_other_nodes_nothing() {
    let cluster = without_replicas();
    let name = cluster.name_at("suite", "m", 1);
    let pair = Pair::of([client(&cluster), client(&cluster)], &name);
    let node = cluster.node(1);
    becomes("only the node itself is busy", async || {
        pair.pass_until_heard(node).await;
        let before = [node.calls("publish"), node.calls("spublish")];
        for _ in 0..10 {
            pair.pass().await;
        }
        node.calls("publish") == before[0] && node.calls("spublish") >= before[1] + 20
    })
    .await;
    // After the reconnect, both clients subscribe to their channels again, although no call waits.
    node.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    becomes("both listen again", async || channels(node) == 2).await;
    pair.pass().await;
}

#[tokio::test]
async fn wake_ups_go_on_where_the_slot_goes() {
    let cluster = without_replicas();
    let name = cluster.name_at("suite", "m", 1);
    let pair = Pair::of([client(&cluster), client(&cluster)], &name);
    pair.pass_until_heard(cluster.node(1)).await;
    let guard = pair.0[0].lock().await.unwrap();
    let waiting = tokio::spawn({
        let mutex = pair.0[1].clone();
        async move { mutex.lock().await }
    });
    waiters(&pair.0[0], 1).await;
    let slot = cluster.slot(&format!("suite:{name}"));
    let migration = cluster.migrate(slot, 1, 2);
    migration.move_keys();
    migration.finish();
    assert!(guard.unlock().await.unwrap());
    let guard = soon("its turn", waiting).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
    assert_eq!(channels(cluster.node(1)), 0);
    pair.pass_until_heard(cluster.node(2)).await;
}

/// Takes the lock until its client keeps it after the call.
async fn keep(mutex: &Mutex) {
    becomes("its client keeps it", async || {
        let info = mutex.info().await.unwrap();
        if !info.kept && !info.locked {
            drop(mutex.lock().await.unwrap());
        }
        info.kept
    })
    .await;
}

#[tokio::test]
async fn a_kept_lock_is_recalled_on_its_shard_channel() {
    let cluster = without_replicas();
    let name = cluster.name_at("suite", "m", 1);
    let [keeper, other] = [client(&cluster), client(&cluster)];
    let node = cluster.node(1);
    let pair = Pair::of([keeper.clone(), other.clone()], &name);
    pair.pass_until_heard(node).await;
    keep(&keeper.mutex(&name).retain("1h")).await;
    let before = [node.calls("publish"), node.calls("spublish")];
    let guard = soon("it is recalled", other.mutex(&name).lock()).await;
    assert!(guard.unwrap().unlock().await.unwrap());
    assert_eq!(node.calls("publish"), before[0]);
    assert!(node.calls("spublish") > before[1]);
}

#[tokio::test]
async fn a_kept_lock_is_recalled_while_its_slot_moves() {
    let cluster = without_replicas();
    let name = cluster.name_at("suite", "m", 1);
    let [keeper, other] = [client(&cluster), client(&cluster)];
    keep(&keeper.mutex(&name).retain("1h")).await;
    // The new node publishes the message, and the old one, which still owns the slot, forwards it.
    let migration = cluster.migrate(cluster.slot(&format!("suite:{name}")), 1, 2);
    migration.move_keys();
    let guard = soon("it is recalled", other.mutex(&name).lock()).await;
    assert!(guard.unwrap().unlock().await.unwrap());
    migration.finish();
}

#[tokio::test]
async fn without_the_right_to_all_nodes_are_told() {
    let rule = auto_mutex::acl_rule("redis-cluster://h").unwrap();
    let rule = rule.without_optional().to_string();
    let options = Options::default().user("locks", "canary", &rule);
    let cluster = Cluster::with(Shape::default().options(options).without_replicas());
    let name = cluster.name_at("suite", "m", 1);
    let clients = [(); 2].map(|()| Client::connect(config(&cluster)).unwrap());
    let pair = Pair::of(clients, &name);
    let node = cluster.node(1);
    let before = node.calls("publish");
    for _ in 0..3 {
        pair.pass().await;
    }
    assert!(node.calls("publish") >= before + 6);
    assert_eq!(channels(node), 0);
}
