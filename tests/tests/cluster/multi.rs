//! Several names at once, each on a different node.

use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};
use auto_mutex_tests::events::soon;

use crate::rig::{client, slot, waiters};

#[tokio::test]
async fn names_of_several_nodes_are_held_all_or_none() {
    let cluster = Cluster::with(Shape::default().without_replicas());
    let [a, b] = [(); 2].map(|()| client(&cluster));
    // The names are taken in the order of their bytes.
    let names = [("a", 0), ("b", 1), ("c", 2)];
    let names = names.map(|(prefix, node)| cluster.name_at("suite", prefix, node));
    let homes = names
        .clone()
        .map(|name| Cluster::home(slot(&cluster, &name)));
    assert_eq!(homes, [0, 1, 2]);
    let guard = a.multi(&names).lock().await.unwrap();
    for (node, name) in names.iter().enumerate() {
        assert!(b.mutex(name).try_lock().await.unwrap().is_none());
        assert!(cluster.node(node).tickets(&format!("suite:{name}")).len() == 1);
    }
    assert!(b.multi(&names[1..]).try_lock().await.unwrap().is_none());
    let waiting = tokio::spawn({
        let (b, names) = (b.clone(), names.clone());
        async move { b.multi(&names).lock().await }
    });
    waiters(&a.mutex(&names[0]), 1).await;
    // The slot of the second name moves meanwhile.
    let moved = slot(&cluster, &names[1]);
    cluster.move_slot(moved, 1, PRIMARIES - 1);
    assert!(guard.unlock().await.unwrap());
    let next = soon("all of them", waiting).await.unwrap().unwrap();
    for name in &names {
        assert!(a.mutex(name).try_lock().await.unwrap().is_none());
    }
    assert!(next.unlock().await.unwrap());
}
