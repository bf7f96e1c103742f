//! The user's password changes under load, on all servers at once, and all connections are cut: no lock is lost, and no
//! call fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use auto_mutex::{Client, ServerKind};
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::redis::Redis;

use crate::keeper::Keeper;
use crate::rig::Ground;

const TASKS: usize = 6;
const NAMES: usize = 3;
const CHANGES: u32 = 3;

/// Tasks that take and release locks until they are stopped.
pub(crate) struct Load {
    turns: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    pub(crate) fn begin(clients: &[Client]) -> Self {
        let (turns, over) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let tasks = (0..TASKS).map(|task| {
            let client = clients[task % clients.len()].clone();
            let (turns, over) = (turns.clone(), over.clone());
            tokio::spawn(async move {
                let mutex = client.mutex(format!("load{}", task % NAMES));
                while !over.load(Ordering::Relaxed) {
                    let guard = mutex.lock().await.expect("no call fails");
                    tokio::task::yield_now().await;
                    guard.check().expect("no lock is lost");
                    drop(guard);
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let tasks = tasks.collect();
        Self { turns, over, tasks }
    }

    /// Waits until the tasks have made progress.
    pub(crate) async fn gets_on(&self) {
        let before = self.turns.load(Ordering::Relaxed);
        becomes("the tasks get on", async || {
            assert!(
                !self.tasks.iter().any(|task| task.is_finished()),
                "a task has failed"
            );
            self.turns.load(Ordering::Relaxed) > before + 50
        })
        .await;
    }

    pub(crate) async fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        for task in self.tasks {
            soon("a task ends", task).await.expect("no call fails");
        }
    }
}

/// The provider is asked for each of these servers, and told its kind.
async fn is_asked(keeper: &Keeper, ground: &Ground, kind: ServerKind) {
    let expected = ground.servers().into_iter().map(|it| (kind, it.port()));
    let sentinels = ground.sentinels().iter();
    let sentinels = sentinels.map(|it| (ServerKind::Sentinel, it.port()));
    for (kind, port) in expected.chain(sentinels) {
        becomes("it is asked", async || {
            let mut asked = keeper.asked().into_iter();
            asked.any(|it| it.kind() == kind && it.to_string() == format!("127.0.0.1:{port}"))
        })
        .await;
    }
}

async fn nothing_is_lost(ground: Ground, kind: ServerKind) {
    let keeper = Keeper::new("locks", "first");
    ground.allow("locks", "first");
    let clients = [(); 2].map(|()| ground.client(&keeper));
    let held = clients[0].mutex("held").lock().await.unwrap();
    let waiting = clients[1].mutex("held");
    let waiter = tokio::spawn(async move { waiting.lock().await });
    waiters(&clients[0].mutex("held"), 1).await;
    let load = Load::begin(&clients);
    load.gets_on().await;
    for change in 0..CHANGES {
        let password = format!("password{change}");
        let of_sentinels = format!("sentinels{change}");
        let resets = |server: &Redis, password: &str| {
            let new = format!(">{password}");
            server.command(&["ACL", "SETUSER", "locks", "resetpass", &new]);
            server.kill_clients();
        };
        ground
            .servers()
            .into_iter()
            .for_each(|it| resets(it, &password));
        ground
            .sentinels()
            .iter()
            .for_each(|it| resets(it, &of_sentinels));
        // Until the provider gives the new password, the servers refuse all new connections.
        keeper.set("locks", &password);
        keeper.set_of_sentinels(&of_sentinels);
        load.gets_on().await;
        held.check().expect("the lock is not lost");
        assert!(!waiter.is_finished(), "the waiter waits");
    }
    load.end().await;
    is_asked(&keeper, &ground, kind).await;
    assert!(soon("released", held.unlock()).await.unwrap());
    let granted = soon("the waiter is granted", waiter).await.unwrap();
    assert!(granted.unwrap().unlock().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_server() {
    nothing_is_lost(Ground::one(), ServerKind::Server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_sentinels() {
    nothing_is_lost(Ground::sentinel(), ServerKind::Server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_cluster() {
    nothing_is_lost(Ground::cluster(), ServerKind::ClusterNode).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_quorum() {
    nothing_is_lost(Ground::quorum(), ServerKind::QuorumMember).await;
}
