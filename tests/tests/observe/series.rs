//! Metrics for which one kind of store is enough: series, the metrics of the store, handoffs, and clients without an
//! observer.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex::test::World;
use auto_mutex::{
    Client, Config, LockError, Metric, MetricKind, Term, auto_leader, auto_mutex, auto_read,
    auto_semaphore, auto_write, sites,
};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::Redis;
use tokio::sync::Barrier;

use crate::seen::Seen;

fn on_memory(seen: &Seen) -> Client {
    let config = Config::new("memory://").unwrap();
    Client::connect(config.namespace("secret").observer(seen.clone())).unwrap()
}

#[auto_mutex(name = "of-many-keys", key = key)]
async fn keyed(key: u32) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn ten_thousand_keys_of_one_site_are_one_series() {
    let seen = Seen::default();
    let client = on_memory(&seen);
    let calls = async {
        for key in 0..10_000 {
            keyed(key).await.unwrap();
        }
    };
    client.scope(calls).await;
    for metric in [
        Metric::AcquireDuration,
        Metric::HoldDuration,
        Metric::Active,
    ] {
        let mut of_site = seen.series(metric);
        of_site.retain(|(labels, _)| labels[0].1 == "of-many-keys:{key}");
        assert_eq!(of_site.len(), 1, "{metric:?}");
    }
    assert_eq!(seen.outcomes("of-many-keys:{key}", "acquired"), 10_000);
    assert_eq!(
        seen.total(Metric::Active, &[("lock.site", "of-many-keys:{key}")]),
        0
    );
}

#[expect(dead_code, reason = "a function counts before it is called")]
#[auto_semaphore(permits = 2, name = "zero-permits")]
async fn with_permits() -> Result<(), LockError> {
    Ok(())
}

#[expect(dead_code, reason = "a function counts before it is called")]
#[auto_read(name = "zero-table")]
fn reads() -> Result<(), LockError> {
    Ok(())
}

#[expect(dead_code, reason = "a function counts before it is called")]
#[auto_write(name = "zero-table")]
fn writes() -> Result<(), LockError> {
    Ok(())
}

#[test]
fn every_site_reads_zero_from_setup_on() {
    let seen = Seen::default();
    let _client = on_memory(&seen);
    for site in sites() {
        let name = site.name();
        for metric in Metric::ALL {
            let is_of_site = |labels: &[(&str, &str)]| labels.contains(&("lock.site", &name));
            let mut of_site = seen.series(*metric);
            of_site.retain(|(labels, _)| is_of_site(labels));
            assert!(of_site.iter().all(|(_, series)| series.total == 0));
            let of_lock = metric.labels().contains(&"lock.site");
            match metric.kind() {
                MetricKind::Histogram => assert!(of_site.is_empty()),
                // Those of leaders begin with a seat that is stood for.
                _ if metric.labels() == ["lock.site"] => assert!(of_site.is_empty()),
                _ if of_lock => assert!(!of_site.is_empty(), "{metric:?} of {name}"),
                _ => {}
            }
        }
    }
    let kinds: Vec<_> = seen.series(Metric::Active);
    for expected in [
        ("zero-permits", "semaphore"),
        ("zero-table", "reader"),
        ("zero-table", "writer"),
        ("annotated-seat", "leader"),
        ("of-many-keys:{key}", "mutex"),
        ("by_hand", "mutex"),
        ("by_hand", "semaphore"),
        ("by_hand", "reader"),
        ("by_hand", "writer"),
        ("leader", "leader"),
    ] {
        let found = |(labels, _): &(Vec<(&str, &str)>, _)| {
            labels[..] == [("lock.site", expected.0), ("lock.kind", expected.1)]
        };
        assert!(kinds.iter().any(found), "{expected:?}");
    }
}

#[tokio::test]
async fn a_seat_reads_zero_until_it_leads_and_again_after_that() {
    const SEAT: &[(&str, &str)] = &[("lock.site", "scheduler")];
    let stands = |client: &Client| {
        let seat = client.leader("seat").metrics_label("scheduler");
        let (sender, terms) = tokio::sync::mpsc::unbounded_channel();
        let leads = tokio::spawn(async move {
            seat.lead(async move |term: &Term| {
                sender.send(term.number()).unwrap();
                term.lost().await;
                Err::<(), LockError>(term.check().unwrap_err())
            })
            .await
        });
        (terms, leads)
    };
    let seen = [Seen::default(), Seen::default()];
    let clients = seen.each_ref().map(|seen| {
        let config = Config::new("memory://observed-seat").unwrap();
        Client::connect(config.observer(seen.clone())).unwrap()
    });
    let of = |seen: &Seen| {
        [Metric::Leader, Metric::LeaderTerm, Metric::LeaderChanges].map(|metric| {
            let all = seen.series(metric);
            assert!(all.len() == 1 && all[0].0 == SEAT, "{all:?}");
            u64::try_from(all[0].1.total).unwrap()
        })
    };
    let stand = |seen: &Seen| seen.total(Metric::LeaderStanding, SEAT);
    let (mut terms, leads) = stands(&clients[0]);
    let first = soon("it leads", terms.recv()).await.unwrap();
    assert_eq!(of(&seen[0]), [1, first, 1]);
    let (mut others, stands_by) = stands(&clients[1]);
    let waits = |seen: &Seen| seen.total(Metric::Waiting, &[("lock.kind", "leader")]);
    becomes("it stands", async || waits(&seen[1]) == 1).await;
    assert_eq!(of(&seen[1]), [0, 0, 0]);
    assert_eq!([stand(&seen[0]), stand(&seen[1])], [1, 1]);

    assert!(clients[0].leader("seat").resign().await.unwrap());
    let second = soon("the other one leads", others.recv()).await.unwrap();
    assert!(second > first);
    assert_eq!(of(&seen[1]), [1, second, 1]);
    assert_eq!(of(&seen[0]), [0, 0, 1]);
    becomes("it stands again", async || waits(&seen[0]) == 1).await;

    clients[1].shutdown().await;
    let ended = soon("it ends", stands_by).await.unwrap();
    assert!(matches!(ended, Err(LockError::ShutDown)), "{ended:?}");
    let third = soon("it leads again", terms.recv()).await.unwrap();
    assert_eq!(of(&seen[1]), [0, 0, 1]);
    assert_eq!(of(&seen[0]), [1, third, 2]);
    leads.abort();
    becomes("nobody leads", async || of(&seen[0]) == [0, 0, 2]).await;
    becomes("nobody stands", async || stand(&seen[0]) == 0).await;
    assert_eq!(stand(&seen[1]), 0);
    // A leader that resigned lost nothing.
    assert_eq!(seen[0].total(Metric::Lost, &[]), 0);
}

#[expect(dead_code, reason = "a function counts before it is called")]
#[auto_leader(name = "annotated-seat")]
async fn leads(term: &Term) -> Result<u64, LockError> {
    Ok(term.number())
}

#[tokio::test]
async fn no_label_says_more_than_the_program_does() {
    let seen = Seen::default();
    let client = on_memory(&seen);
    for key in ["one", "other"] {
        drop(client.mutex(format!("m:{key}")).lock().await.unwrap());
        drop(
            client
                .semaphore(format!("s:{key}"), 3)
                .acquire()
                .await
                .unwrap(),
        );
        drop(client.rw_lock(format!("r:{key}")).read().await.unwrap());
        drop(client.rw_lock(format!("r:{key}")).write().await.unwrap());
        drop(client.multi([key, "both"]).lock().await.unwrap());
    }
    let kinds = ["mutex", "reader", "semaphore", "writer"];
    for metric in [Metric::Active, Metric::HoldDuration] {
        let mut by_hand = seen.series(metric);
        by_hand.retain(|(labels, _)| labels[0] == ("lock.site", "by_hand"));
        let found: Vec<_> = by_hand.iter().map(|(labels, _)| labels[1].1).collect();
        assert_eq!(found, kinds, "{metric:?}");
    }
}

#[tokio::test]
async fn a_handoff_is_counted_and_local() {
    let seen = Seen::default();
    let redis = Redis::start();
    let config = Config::new(redis.url()).unwrap().local_handoff(100, "60s");
    let config = config.connect_timeout("60s");
    let client = Client::connect(config.lease(LONG).observer(seen.clone())).unwrap();
    let mutex = client.mutex("m").metrics_label("here");
    let guard = mutex.lock().await.unwrap();
    let mut calls = Vec::new();
    for _ in 0..3 {
        let mutex = mutex.clone();
        calls.push(tokio::spawn(async move { mutex.lock().await.map(drop) }));
    }
    let site = [("lock.site", "here")];
    becomes("they wait", async || {
        seen.total(Metric::Waiting, &site) == 3
    })
    .await;
    drop(guard);
    for call in calls {
        soon("its turn", call).await.unwrap().unwrap();
    }
    assert_eq!(seen.total(Metric::Handoff, &site), 3);
    let via = |via| seen.total(Metric::AcquireDuration, &[site[0], ("via", via)]);
    assert_eq!((via("local"), via("store")), (3, 1));
    assert_eq!(seen.total(Metric::HoldDuration, &site), 4);
}

#[auto_mutex::test]
async fn the_store_is_measured_and_its_connections_are_counted(world: World) {
    let seen = Seen::default();
    let connect = |host| Client::connect(world.config(host).observer(seen.clone())).unwrap();
    let (client, other) = (connect("a"), connect("b"));
    // What answers at once is not measured.
    world.delay(Duration::from_millis(1));
    let connected = || seen.total(Metric::StoreConnected, &[]);
    becomes("both are connected", async || connected() == 2).await;
    let guard = client
        .mutex("m")
        .metrics_label("here")
        .lock()
        .await
        .unwrap();
    guard.refresh("60s").await.unwrap();
    client.mutex("m").info().await.unwrap();
    client
        .mutex("other")
        .lock()
        .await
        .unwrap()
        .unlock()
        .await
        .unwrap();
    let answers =
        |operation| seen.total(Metric::StoreOperationDuration, &[("operation", operation)]);
    for operation in ["acquire", "touch", "inspect", "release"] {
        becomes("it is measured", async || answers(operation) > 0).await;
    }
    let slow = Duration::from_secs(60);
    for (_, series) in seen.series(Metric::StoreOperationDuration) {
        assert!(series.values.iter().all(|took| *took < slow));
    }
    other.shutdown().await;
    becomes("one has gone", async || connected() == 1).await;
    world.oom_crash();
    becomes("the other one too", async || connected() == 0).await;
    let site = [("lock.site", "here")];
    becomes("a renewal failed", async || {
        seen.total(Metric::RenewalFailures, &site) > 0
    })
    .await;
    soon("it is lost", guard.lost()).await;
    becomes("the loss is counted", async || {
        seen.total(Metric::Lost, &[site[0], ("cause", "not_renewed")]) == 1
    })
    .await;
    world.restart_empty();
    becomes("connected again", async || connected() == 1).await;
}

#[tokio::test]
async fn a_store_in_the_process_is_not_measured() {
    let seen = Seen::default();
    let client = on_memory(&seen);
    let (mutex, start) = (client.mutex("m"), Arc::new(Barrier::new(2)));
    let held = mutex.lock().await.unwrap();
    let call = tokio::spawn({
        let (mutex, start) = (mutex.clone(), start.clone());
        async move {
            start.wait().await;
            mutex.lock().await.map(drop)
        }
    });
    start.wait().await;
    becomes("it waits", async || seen.total(Metric::Waiting, &[]) == 1).await;
    drop(held);
    soon("its turn", call).await.unwrap().unwrap();
    assert!(seen.series(Metric::StoreOperationDuration).is_empty());
}

/// Without a server, requests end immediately, and must not count as the time that servers take.
#[tokio::test]
async fn a_store_that_is_not_connected_yet_is_not_measured() {
    let (seen, redis) = (Seen::default(), Redis::start());
    redis.kill9();
    let config = Config::new(redis.url()).unwrap().store_timeout("200ms");
    let client = Client::connect(config.connect_lazily(true).observer(seen.clone())).unwrap();
    let known = |(labels, _): &(Vec<(&str, &str)>, _)| labels[0].1 == "of-many-keys:{key}";
    assert!(seen.series(Metric::Active).iter().any(known), "zeros");
    let mutex = client.mutex("m").metrics_label("here");
    let failed = soon("it fails", mutex.lock()).await.map(drop);
    assert!(
        matches!(failed, Err(LockError::Unavailable { .. })),
        "{failed:?}"
    );
    assert_eq!(seen.outcomes("here", "unavailable"), 1);
    assert_eq!(seen.total(Metric::StoreConnected, &[]), 0);
    redis.start_again();
    becomes("it is connected", async || {
        seen.total(Metric::StoreConnected, &[]) == 1
    })
    .await;
    becomes("it grants", async || mutex.lock().await.is_ok()).await;
    becomes("it is measured", async || {
        seen.total(Metric::StoreOperationDuration, &[("operation", "release")]) > 0
    })
    .await;
    for (labels, series) in seen.series(Metric::StoreOperationDuration) {
        let by_server = series.values.iter().all(|took| !took.is_zero());
        assert!(by_server, "{labels:?} {series:?}");
    }
}

/// While an observer blocks, no lease ends, and the gauges are correct afterwards.
#[tokio::test]
async fn an_observer_that_blocks_keeps_no_lease_from_being_renewed() {
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Mutex, PoisonError};

    use auto_mutex::Observer;

    /// Blocks at the first loss until the test opens the gate.
    struct Blocks(Seen, Mutex<Receiver<()>>);

    impl Observer for Blocks {
        fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64) {
            if metric == Metric::Lost && change > 0 {
                let gate = self.1.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = gate.recv();
            }
            self.0.add(metric, labels, change);
        }

        fn record(&self, metric: Metric, labels: &[(&'static str, &'static str)], took: Duration) {
            self.0.record(metric, labels, took);
        }
    }

    let (seen, redis) = (Seen::default(), Redis::start());
    let (opens, gate) = channel();
    let config = Config::new(redis.url()).unwrap().lease(LONG);
    let config = config.connect_timeout("60s");
    let blocks = Blocks(seen.clone(), Mutex::new(gate));
    let client = Client::connect(config.clone().observer(blocks)).unwrap();
    let other = Client::connect(config).unwrap();
    let many = 1_100;
    let mut guards = Vec::new();
    for number in 0..many {
        guards.push(client.mutex(format!("m{number}")).lock().await.unwrap());
    }
    let kept = client.mutex("kept").lock().await.unwrap();
    assert_eq!(seen.total(Metric::Active, &[]), many + 1);
    for number in 0..many {
        assert!(
            other
                .mutex(format!("m{number}"))
                .force_unlock()
                .await
                .unwrap()
        );
    }
    for guard in &guards {
        soon("it is lost", guard.lost()).await;
    }
    soon("confirmed", kept.refresh(LONG)).await.unwrap();
    drop(opens);
    becomes("all are counted", async || {
        seen.total(Metric::Lost, &[("cause", "forced")]) == many
    })
    .await;
    assert_eq!(seen.total(Metric::Active, &[]), 1);
    drop((guards, kept));
    becomes("nothing is held", async || {
        seen.total(Metric::Active, &[]) == 0
    })
    .await;
}
