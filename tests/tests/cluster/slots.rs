//! A slot moves: held locks, waiters, and new names in it.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::events::{becomes, soon};

use crate::rig::{client, config, key, slot, waiters};

fn cluster() -> Cluster {
    Cluster::with(Shape::default().without_replicas())
}

/// Returns the slot of the lock `name`, the node of this slot, and another node.
fn places(cluster: &Cluster, name: &str) -> (u16, usize, usize) {
    let slot = slot(cluster, name);
    let from = Cluster::home(slot);
    (slot, from, (from + 1) % PRIMARIES)
}

#[tokio::test]
async fn a_lock_and_its_queue_move_with_their_slot() {
    let cluster = cluster();
    let [holder, waiter, late] = [(); 3].map(|()| client(&cluster));
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    waiters(&holder.mutex("m"), 1).await;
    let (slot, from, to) = places(&cluster, "m");
    cluster.move_slot(slot, from, to);
    // A client that has not used the lock before is redirected to the new node, and finds the lock held.
    assert!(late.mutex("m").try_lock().await.unwrap().is_none());
    guard.refresh(Duration::from_secs(60)).await.unwrap();
    let token = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    let next = soon("woken at the new node", waiting)
        .await
        .unwrap()
        .unwrap();
    assert!(next.fencing_token() > token);
    assert!(next.unlock().await.unwrap());
    // The slot moves back.
    cluster.move_slot(slot, to, from);
    let last = late.mutex("m").lock().await.unwrap();
    assert!(last.fencing_token() > token);
}

#[tokio::test]
async fn names_half_way_are_found_wherever_they_are() {
    let cluster = cluster();
    let [a, b] = [(); 2].map(|()| client(&cluster));
    let (slot, from, to) = places(&cluster, "m");
    let guard = a.mutex("m").lock().await.unwrap();
    let migration = cluster.migrate(slot, from, to);
    // The key is still at the old node.
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
    migration.move_key(&key("m"));
    // The key is at the new node, which does not own the slot yet.
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
    assert!(
        b.mutex("m")
            .block(Duration::from_millis(100))
            .lock()
            .await
            .is_err()
    );
    let waiting = tokio::spawn({
        let b = b.clone();
        async move { b.mutex("m").lock().await }
    });
    soon("renewed there", guard.refresh(Duration::from_secs(60)))
        .await
        .unwrap();
    becomes("it waits at the new node", async || {
        let mut connection = cluster.node(to).connect();
        connection.call(&["ASKING"]);
        let form = connection.call(&["GETRANGE", &key("m"), "0", "2"]);
        form.text() == "3 q"
    })
    .await;
    assert!(guard.unlock().await.unwrap());
    let next = soon("woken there", waiting).await.unwrap().unwrap();
    assert!(next.unlock().await.unwrap());
    assert_eq!(cluster.node(from).keys(), [], "nothing was begun anew");
    migration.finish();
    assert!(a.mutex("m").try_lock().await.unwrap().is_some());
}

#[tokio::test]
async fn of_two_names_in_one_slot_each_is_found_where_it_is() {
    let cluster = cluster();
    let [a, b] = [(); 2].map(|()| client(&cluster));
    let (first, second) = ("m", "m47182");
    let (slot, from, to) = places(&cluster, first);
    assert_eq!(self::slot(&cluster, second), slot);
    let guards = [
        a.mutex(first).lock().await.unwrap(),
        a.mutex(second).lock().await.unwrap(),
    ];
    let migration = cluster.migrate(slot, from, to);
    migration.move_key(&key(first));
    for name in [first, second, first] {
        assert!(b.mutex(name).try_lock().await.unwrap().is_none(), "{name}");
    }
    for guard in guards {
        assert!(guard.unlock().await.unwrap());
    }
    assert!(b.mutex(second).try_lock().await.unwrap().is_some());
    migration.move_keys();
    migration.finish();
    for name in [first, second] {
        let guard = soon("free", b.mutex(name).lock()).await.unwrap();
        assert!(guard.unlock().await.unwrap());
    }
}

#[tokio::test]
async fn a_name_that_comes_new_while_its_slot_moves_begins_at_the_new_node() {
    let cluster = cluster();
    let [a, b] = [(); 2].map(|()| client(&cluster));
    let (slot, from, to) = places(&cluster, "new");
    let migration = cluster.migrate(slot, from, to);
    let guard = soon("a grant", a.mutex("new").lock()).await.unwrap();
    assert!(b.mutex("new").try_lock().await.unwrap().is_none());
    assert_eq!(cluster.node(from).keys(), []);
    migration.move_keys();
    migration.finish();
    guard.check().unwrap();
    assert!(b.mutex("new").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn what_has_many_keys_waits_until_all_are_together() {
    let cluster = cluster();
    let client = Client::connect(config(&cluster).store_timeout("60s")).unwrap();
    // The key `auto_mutex:{name}` stores at most 24 holders and 24 waiters. With more, the name uses its other keys
    // too.
    const MANY: u32 = 26;
    let semaphore = client.semaphore("s", 3 * MANY + 2);
    let mut permits = Vec::new();
    for _ in 0..MANY {
        permits.push(semaphore.acquire_many(3).await.unwrap());
    }
    let waiting = [(); MANY as usize].map(|()| {
        let semaphore = semaphore.clone();
        tokio::spawn(async move { semaphore.acquire_many(3).await.map(|all| all.units()) })
    });
    waiters(&client.mutex("s"), MANY as usize).await;
    for token in ["first", "second"] {
        semaphore.signal(token).await.unwrap();
    }
    let (slot, from, to) = places(&cluster, "s");
    let migration = cluster.migrate(slot, from, to);
    let left = migration.left();
    assert_eq!(left.len(), 8, "all that a name can have: {left:?}");
    // No node executes the request until the migration has ended, not even while no key has moved yet.
    let stuck = async |what: &str| {
        let asked = tokio::time::timeout(Duration::from_millis(300), semaphore.available()).await;
        assert!(asked.is_err(), "{what}: {asked:?}");
    };
    stuck("none moved").await;
    for key in &left {
        migration.move_key(key);
        stuck(key).await;
    }
    assert_eq!(migration.left(), [""; 0]);
    let asking = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { semaphore.available().await }
    });
    migration.finish();
    assert_eq!(soon("an answer", asking).await.unwrap().unwrap(), 4);
    for permit in permits {
        soon("released", permit.release()).await.unwrap();
    }
    for all in waiting {
        assert_eq!(soon("woken", all).await.unwrap().unwrap(), 3);
    }
    let token = soon("a token", semaphore.acquire()).await.unwrap();
    assert_eq!(token.token(), Some("first"));
}

#[tokio::test]
async fn a_slot_that_nobody_served_at_first_is_found_soon() {
    let cluster = cluster();
    let (slot, from, _) = places(&cluster, "m");
    cluster.abandon_slot(slot, from);
    let client = Client::connect(config(&cluster).store_timeout("60s")).unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.mutex("m").lock().await }
    });
    // All other slots are served.
    let other = cluster.name_at("suite", "o", (from + 1) % PRIMARIES);
    assert!(client.mutex(&other).try_lock().await.unwrap().is_some());
    cluster.take_slot(slot, from);
    let guard = soon("a grant", waiting).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_slot_goes_to_a_node_that_nobody_knew() {
    // The newcomer is a former replica. It rejoins the cluster as a primary without slots, and gets its first one.
    let cluster = Cluster::start();
    let client = client(&cluster);
    let newcomer = PRIMARIES;
    let (slot, from, _) = places(&cluster, "m");
    let guard = client.mutex("m").lock().await.unwrap();
    cluster
        .node(newcomer)
        .command(&["CLUSTER", "RESET", "SOFT"]);
    cluster.meet(newcomer);
    let migration = cluster.migrate(slot, from, newcomer);
    migration.move_keys();
    soon("renewed there", guard.refresh(Duration::from_secs(60)))
        .await
        .unwrap();
    migration.finish();
    soon("renewed there", guard.refresh(Duration::from_secs(60)))
        .await
        .unwrap();
    assert!(guard.unlock().await.unwrap());
    assert_eq!(cluster.node(newcomer).members(), 1);
}
