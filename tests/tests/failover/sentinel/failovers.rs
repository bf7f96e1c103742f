//! The primary is replaced: clients move to the new one, which grants nothing for a while.

use std::time::Instant;

use auto_mutex::{Client, MutexGuard};
use auto_mutex_tests::events::{eventually, soon, waiters};
use auto_mutex_tests::sentinel::{Service, ServiceOptions};

use super::finding::{client, members};
use crate::rig::{CLOSED, closed_since, config};

const HAPPENED: &str = "the lock store was failed over";

/// A holder, and a waiter for its lock.
struct Contest {
    holder: Client,
    guard: MutexGuard,
    waiting: tokio::task::JoinHandle<Result<MutexGuard, auto_mutex::LockError>>,
}

impl Contest {
    async fn begin(service: &Service) -> Self {
        let (holder, waiter) = (client(&service.url()), client(&service.url()));
        let mutex = holder.mutex("m");
        let guard = mutex.lock().await.unwrap();
        let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
        waiters(&mutex, 1).await;
        let replicas = service.servers()[1..].iter();
        replicas.for_each(|replica| replica.wait_for(service.server(0)));
        Self {
            holder,
            guard,
            waiting,
        }
    }

    /// Checks that both clients move to the server that replaces the first one, and that the waiter is granted when it opens.
    async fn go_on(self, service: &Service, began: Instant) {
        let primary = service.wait_until_replaced(0);
        // `eventually` blocks this thread. The clients do not need it.
        eventually("both are there", || members(service.server(primary)) == 2);
        let free = self.holder.mutex("free").try_lock().await;
        closed_since(began, free, HAPPENED);
        let token = self.guard.fencing_token();
        // The guard may have been lost meanwhile, if the failover took longer than the lease.
        drop(self.guard);
        let next = soon("granted in the end", self.waiting)
            .await
            .unwrap()
            .unwrap();
        assert!(began.elapsed() >= CLOSED, "{:?}", began.elapsed());
        assert!(next.fencing_token() > token);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn by_command() {
    let service = Service::start();
    let contest = Contest::begin(&service).await;
    let began = Instant::now();
    service.begin_failover();
    contest.go_on(&service, began).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_killed() {
    let service = Service::start();
    let contest = Contest::begin(&service).await;
    let began = Instant::now();
    service.watch_closely();
    service.server(0).kill9();
    contest.go_on(&service, began).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_suspended_and_comes_back() {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_keeps_its_lock_through_a_failover() {
    let service = Service::start();
    let config = config(&service.url()).longest_lease("30s").lease("30s");
    let holder = Client::connect(config.restart_guard(false)).unwrap();
    let mutex = holder.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let replicas = service.servers()[1..].iter();
    replicas.for_each(|replica| replica.wait_for(service.server(0)));
    let primary = service.fail_over();
    eventually("it is there", || members(service.server(primary)) == 1);
    guard.check().unwrap();
    assert!(mutex.is_locked().await.unwrap());
    assert!(guard.unlock().await.unwrap());
}
