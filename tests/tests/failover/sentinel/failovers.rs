//! The primary is replaced: clients move to the new one, which grants nothing for a while.

use std::time::Instant;

use auto_mutex::{Client, MutexGuard};
use auto_mutex_tests::events::{eventually, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::sentinel::{Service, ServiceOptions};

use super::finding::{client, members};
use crate::rig::{CLOSED, closed_since};

const HAPPENED: &str = "the lock store was failed over";

/// A holder, and another client.
struct Contest {
    holder: Client,
    other: Client,
    guard: MutexGuard,
}

impl Contest {
    async fn begin(service: &Service) -> Self {
        let (holder, other) = (client(&service.url()), client(&service.url()));
        let guard = holder.mutex("m").lock().await.unwrap();
        replicate(service);
        Self {
            holder,
            other,
            guard,
        }
    }

    /// Checks that both clients move to the server that replaces the first one, and that it grants nothing until it
    /// opens.
    async fn go_on(self, service: &Service, began: Instant) {
        let primary = service.wait_until_replaced(0);
        // `eventually` blocks this thread. The clients do not need it.
        eventually("both are there", || members(service.server(primary)) == 2);
        let free = self.holder.mutex("free");
        closed_since(began, free.try_lock().await, HAPPENED);
        drop(soon("granted in the end", free.lock()).await.unwrap());
        assert!(began.elapsed() >= CLOSED, "{:?}", began.elapsed());
        let token = self.guard.fencing_token();
        drop(self.guard);
        let next = soon("granted", self.other.mutex("m").lock()).await.unwrap();
        assert!(next.fencing_token() > token);
    }
}

/// Waits until the replicas have all data of the first server.
fn replicate(service: &Service) {
    let replicas = service.servers()[1..].iter();
    replicas.for_each(|replica| replica.wait_for(service.server(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn by_command() {
    let _watch = real_time();
    let service = Service::start();
    let contest = Contest::begin(&service).await;
    let began = Instant::now();
    service.begin_failover();
    contest.go_on(&service, began).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_suspended_and_comes_back() {
    let _watch = real_time();
    let service = Service::start();
    let contest = Contest::begin(&service).await;
    let began = Instant::now();
    service.watch_closely();
    service.server(0).stop();
    contest.go_on(&service, began).await;
    // A primary that is late for a moment must not be replaced once more.
    service.leave_alone();
    service.server(0).cont();
    service.wait_until_whole();
    assert_ne!(service.primary(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_still_answers_is_left() {
    let _watch = real_time();
    let service = Service::with(ServiceOptions::default().proxied());
    let contest = Contest::begin(&service).await;
    let began = Instant::now();
    // The old primary keeps answering clients: only the sentinels know that it is replaced.
    service.watch_closely();
    service.isolate(0);
    contest.go_on(&service, began).await;
    assert!(service.server(0).is_primary());
    assert_eq!(members(service.server(0)), 0);
}
