//! The order of waiters, and the cost of waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use auto_mutex::test::World;
use auto_mutex::{Client, Metric, Observer};
use auto_mutex_tests::events::{becomes, soon, with};

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn others_names_do_not_collide_locally() {
    let rig = Rig::new();
    let client = rig.client();
    let mut guards = Vec::new();
    for number in 0..300 {
        let mutex = client.mutex(format!("{number}"));
        let guard = soon("it meets no earlier name", mutex.lock()).await;
        guards.push(guard.unwrap());
    }
    assert_eq!(rig.redis.held(), 300);
    drop(guards);
    becomes("all are released", async || rig.redis.held() == 0).await;
}

#[auto_mutex::test]
async fn others_an_idle_waiter_does_not_poll(world: World) {
    let (holder, requests) = (world.client("a"), Requests::default());
    let client = Client::connect(world.config("b").observer(requests.clone())).unwrap();
    // What answers at once is not measured.
    world.delay(Duration::from_millis(1));
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting: Vec<_> = (0..200)
        .map(|_| {
            with(&client, |client| async move {
                client.mutex("m").lock().await.map(drop)
            })
        })
        .collect();
    waiters(&holder.mutex("m"), 1).await;
    let before = requests.0.load(Ordering::SeqCst);
    world.advance(Duration::from_secs(60)).await;
    let asked = requests.0.load(Ordering::SeqCst) - before;
    assert!(asked <= 120, "{asked} requests for 200 waiters in a minute");
    drop(guard);
    for task in waiting {
        soon("everybody gets in", task).await.unwrap().unwrap();
    }
}

#[derive(Clone, Default)]
struct Requests(Arc<AtomicUsize>);

impl Observer for Requests {
    fn add(&self, _: Metric, _: &[(&'static str, &'static str)], _: i64) {}

    fn record(&self, metric: Metric, _: &[(&'static str, &'static str)], _: Duration) {
        if metric == Metric::StoreOperationDuration {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}
