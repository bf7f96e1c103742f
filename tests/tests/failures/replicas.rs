//! Grants that count only once replicas have received them.

use std::time::Duration;

use auto_mutex::{Client, LockError, SetupError};
use auto_mutex_tests::events::{LONG, becomes, eventually, soon};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};

use crate::rig::{config, waiters};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A primary, and its replica, which always receives data a little late.
struct Pair {
    primary: Redis,
    replica: Redis,
    _late: Proxy,
}

const LATE: Duration = Duration::from_millis(20);

impl Pair {
    fn new() -> Self {
        let primary = Redis::with(Options::default().line("repl-diskless-sync-delay 0"));
        let late = Proxy::start(primary.port());
        late.delay(LATE);
        let replica = format!("replicaof 127.0.0.1 {}", late.port());
        let replica = Redis::with(Options::default().line(&replica));
        let pair = Self {
            primary,
            replica,
            _late: late,
        };
        pair.wait();
        pair
    }

    fn wait(&self) {
        eventually("the replica is in step", || {
            self.primary.info("slave0").contains("state=online")
        });
    }

    fn client(&self, timeout: Duration) -> Client {
        let config = config(&self.primary.url()).lease(LONG);
        Client::connect(config.replicas(1, timeout)).unwrap()
    }

    /// Returns the replica's copy of the lock's state.
    fn copy(&self) -> String {
        let state = self.replica.command(&["DUMP", "auto_mutex:{suite:m}"]);
        format!("{state:?}")
    }
}

fn unreplicated(error: &LockError) -> bool {
    matches!(
        error,
        LockError::NotReplicated { name, wanted: 1, reached: 0, .. } if name == "suite:m"
    )
}

#[tokio::test]
async fn a_grant_is_on_the_replica_when_it_is_told() {
    let pair = Pair::new();
    let client = pair.client(TIMEOUT);
    let mutex = client.mutex("m");
    let mut before = pair.copy();
    for _ in 0..20 {
        let guard = soon("granted", mutex.lock()).await.unwrap();
        let granted = pair.copy();
        assert_ne!(granted, before, "the replica knows of the grant");
        assert!(guard.unlock().await.unwrap());
        eventually("the release is there too", || pair.copy() != granted);
        before = pair.copy();
    }
}

#[tokio::test]
async fn without_replicas_it_is_released_and_reported() {
    let _watch = real_time();
    let pair = Pair::new();
    let client = pair.client(Duration::from_millis(100));
    pair.replica.stop();
    let mutex = client.mutex("m");
    let error = soon("an answer", mutex.lock()).await.unwrap_err();
    assert!(unreplicated(&error), "{error:?}");
    let error = soon("an answer", mutex.try_lock()).await.unwrap_err();
    assert!(unreplicated(&error), "{error:?}");
    let error = mutex.clone().retries(1, "20ms").lock().await;
    assert!(unreplicated(&error.unwrap_err()));
    // The lock is released: a client that requires no replicas gets it at once.
    let other = Client::connect(config(&pair.primary.url()).lease(LONG)).unwrap();
    let guard = soon("free", other.mutex("m").lock()).await.unwrap();
    drop(guard);
    pair.replica.cont();
    becomes("the replica is back", async || mutex.lock().await.is_ok()).await;
}

/// The replicas are asked about all grants of one read together.
#[tokio::test]
async fn a_lock_that_cannot_be_confirmed_fails_alone() {
    let pair = Pair::new();
    let proxy = Proxy::start(pair.primary.port());
    let config = config(&pair.primary.url_at(proxy.port())).lease(LONG);
    let client = Client::connect(config.replicas(1, TIMEOUT)).unwrap();
    drop(soon("granted", client.mutex("first").lock()).await.unwrap());
    let connections = proxy.connections();
    proxy.hold_replies();
    let names = (0..20).map(|number| format!("m{number}"));
    let calls = names.chain(["foreign".to_owned()]).map(|name| {
        let mutex = client.mutex(&name);
        let call = tokio::spawn(async move { mutex.lock().await.map(drop) });
        (name, call)
    });
    let calls: Vec<_> = calls.collect();
    becomes("all are granted", async || pair.primary.held() == 21).await;
    pair.primary
        .command(&["SET", "auto_mutex:{suite:foreign}", "foreign"]);
    proxy.thaw();
    for (name, call) in calls {
        match soon("an answer", call).await.unwrap() {
            Err(LockError::NotReplicated { reached: 0, .. }) if name == "foreign" => {}
            answer => assert!(answer.is_ok() && name != "foreign", "{name}: {answer:?}"),
        }
    }
    assert_eq!(
        proxy.connections(),
        connections,
        "no connection was given up"
    );
}

#[tokio::test]
async fn whoever_is_let_in_by_another_is_confirmed_too() {
    let pair = Pair::new();
    let (holder, waiter) = (pair.client(TIMEOUT), pair.client(TIMEOUT));
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await });
    waiters(&holder.mutex("m"), 1).await;
    drop(guard);
    let guard = soon("handed on", waiting).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_waiter_whose_grant_is_not_confirmed_lets_the_next_one_in() {
    let _watch = real_time();
    let pair = Pair::new();
    let holder = Client::connect(config(&pair.primary.url()).lease(LONG)).unwrap();
    let [first, second] = [(); 2].map(|()| pair.client(Duration::from_millis(100)));
    let guard = holder.mutex("m").lock().await.unwrap();
    let mut waiting = Vec::new();
    for (count, client) in [first, second].into_iter().enumerate() {
        waiting.push(tokio::spawn(async move {
            client.mutex("m").lock().await.map(drop)
        }));
        waiters(&holder.mutex("m"), count + 1).await;
    }
    pair.replica.stop();
    drop(guard);
    for waiting in waiting {
        let error = soon("an answer", waiting).await.unwrap().unwrap_err();
        assert!(unreplicated(&error), "{error:?}");
    }
    let guard = soon("free", holder.mutex("m").lock()).await.unwrap();
    drop(guard);
}

#[tokio::test]
async fn a_holder_keeps_its_lock_while_the_replica_is_away() {
    let pair = Pair::new();
    let client = pair.client(TIMEOUT);
    let guard = client.mutex("m").lock().await.unwrap();
    pair.replica.stop();
    for _ in 0..3 {
        soon("renewed", guard.refresh(LONG)).await.unwrap();
    }
    guard.check().unwrap();
}

#[tokio::test]
async fn a_server_that_forgets_scripts_and_connections_confirms_all_the_same() {
    let pair = Pair::new();
    let client = pair.client(TIMEOUT);
    let mutex = client.mutex("m");
    for round in 0..6 {
        match round % 2 {
            0 => drop(pair.primary.command(&["SCRIPT", "FLUSH"])),
            _ => {
                pair.primary.kill_clients();
                pair.wait();
            }
        }
        drop(soon("granted", mutex.lock()).await.unwrap());
    }
}

#[test]
fn what_cannot_be_waited_for_is_told_at_set_up() {
    let primary = Redis::with(Options::default().user("locks", "pw", "~* &* +@all -wait"));
    let client = Client::connect(config(&primary.url()).replicas(1, "1s"));
    assert!(matches!(client, Err(SetupError::Permission { .. })));
    for (url, count, timeout, lease) in [
        ("memory://", 1, "1s", "10s"),
        ("redlock://a,b,c", 1, "1s", "10s"),
        ("redis://h", 1, "0s", "10s"),
        ("redis://h", 1, "10s", "10s"),
    ] {
        let client = Client::connect(config(url).lease(lease).replicas(count, timeout));
        assert!(
            matches!(
                &client,
                Err(SetupError::InvalidOption {
                    option: "replicas",
                    ..
                })
            ),
            "{url}: {client:?}"
        );
    }
}
