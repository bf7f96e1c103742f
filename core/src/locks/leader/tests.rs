use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::{Leader, Term};
use crate::base::clock;
use crate::test_kit::{self, Runs, run};
use crate::{Client, Config, LockError, LossCause};

fn clients(store: &str) -> [Client; 2] {
    let url = format!("memory://leader-{store}");
    [(); 2].map(|()| Client::connect(&*url).unwrap())
}

type Led = Result<u64, LockError>;

/// Leads until the second term, and returns its number.
async fn twice(seat: &Leader, mut first: impl AsyncFnMut(&Term)) -> Led {
    let mut terms = 0;
    seat.lead(async |term: &Term| {
        terms += 1;
        if terms == 1 {
            first(term).await;
        }
        Ok(term.number())
    })
    .await
}

#[tokio::test]
async fn a_loss_ends_the_body_and_not_the_call() {
    let [client, _] = clients("loss");
    let seat = client.leader("s");
    let number = AtomicU64::new(0);
    let second = twice(&seat, async |term| {
        number.store(term.number(), Ordering::Relaxed);
        client.mutex("s").force_unlock().await.unwrap();
        pending::<()>().await;
    });
    assert!(second.await.unwrap() > number.into_inner());
}

#[tokio::test]
async fn who_resigns_goes_to_the_back_of_the_queue() {
    let [one, two] = clients("resign");
    let order = std::sync::Mutex::new(Vec::new());
    let seat = one.leader("s");
    let other = two.leader("s");
    let leads = twice(&seat, async |term| {
        order.lock().unwrap().push(1);
        while one.mutex("s").info().await.unwrap().waiters.is_empty() {
            tokio::task::yield_now().await;
        }
        term.resign();
        assert!(term.is_lost());
        pending::<()>().await;
    });
    let stands = async {
        while other.current().await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        other
            .lead(async |_| {
                order.lock().unwrap().push(2);
                Ok::<_, LockError>(())
            })
            .await
            .unwrap();
    };
    let (led, ()) = tokio::join!(leads, stands);
    led.unwrap();
    order.lock().unwrap().push(3);
    assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
}

#[tokio::test]
async fn resign_waits_until_the_seat_is_free() {
    let [one, two] = clients("resign-waits");
    let seat = one.leader("s");
    assert!(!seat.resign().await.unwrap());
    let leads = twice(&seat, async |term| {
        term.lost().await;
        pending::<()>().await;
    });
    let resigns = async {
        while !seat.resign().await.unwrap() {
            tokio::task::yield_now().await;
        }
        two.mutex("s").lock().await.unwrap()
    };
    let (led, ()) = tokio::join!(leads, async { drop(resigns.await) });
    led.unwrap();
}

#[tokio::test]
async fn a_body_does_not_begin_after_its_term() {
    let [client, _] = clients("over");
    for blocking in [false, true] {
        let leader = client.leader("s");
        let seat = leader.seat(blocking).unwrap();
        let term = seat.obtain(blocking).await.unwrap();
        term.resign();
        let begins = || panic!("the body begins");
        let ran: Option<Led> = match blocking {
            true => term.run_blocking(begins),
            false => term.run(async { begins() }).await,
        };
        assert!(ran.is_none());
    }
}

#[test]
fn a_leader_that_hangs_is_replaced() {
    run(Runs::new().seeds(5), |world| async move {
        let (one, two) = (world.client("one"), world.client("two"));
        let seat = one.leader("s").stop_within("20ms").progress("20ms");
        let hangs = world.thread(&one, move || {
            let mut causes = Vec::new();
            seat.blocking_lead(|term| {
                if let [_, ..] = *causes {
                    return Ok(());
                }
                test_kit::sleep(Duration::from_secs(10));
                let Err(LockError::Lost { cause, .. }) = term.check() else {
                    panic!("it still leads")
                };
                causes.push(cause);
                term.check()
            })
            .map(|()| causes)
        });
        let next = two.leader("s");
        while next.current().await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        next.lead(async |_| Ok::<_, LockError>(())).await.unwrap();
        assert!(!hangs.is_finished());
        assert_eq!(hangs.await.unwrap(), [LossCause::Stalled]);
    });
}

/// A grant by message lasts for two seconds until it is claimed.
#[test]
fn a_term_begins_with_time_to_work() {
    run(Runs::new().seeds(5), |world| async move {
        let (one, two) = (world.client("one"), world.client("two"));
        let held = one.mutex("s").lock().await.unwrap();
        let standby = two.leader("s").stop_within("1500ms");
        let leads = standby.lead(async |term: &Term| {
            let left = clock::now().until(term.hold().valid());
            assert!(left > Duration::from_millis(2200), "{left:?}");
            Ok::<_, LockError>(())
        });
        let ends = async {
            world.advance(Duration::from_secs(1)).await;
            drop(held);
        };
        let (led, ()) = tokio::join!(leads, ends);
        led.unwrap();
    });
}

#[test]
fn progress_keeps_the_lead() {
    run(Runs::new().seeds(5), |world| async move {
        let client = world.client("one");
        let seat = client.leader("s").progress("200ms");
        let mut terms = 0;
        seat.lead(async |term| {
            terms += 1;
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(190)).await;
                term.progress();
            }
            Ok::<_, LockError>(())
        })
        .await
        .unwrap();
        assert_eq!(terms, 1);
    });
}

#[tokio::test]
async fn a_drain_ends_the_lead() {
    let [client, _] = clients("drain");
    let ended = Arc::new(AtomicU32::new(0));
    let led = tokio::spawn({
        let (client, ended) = (client.clone(), ended.clone());
        async move {
            client
                .leader("s")
                .lead(async move |_| {
                    ended.fetch_add(1, Ordering::Relaxed);
                    pending::<Result<(), LockError>>().await
                })
                .await
        }
    });
    while ended.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    assert!(client.drain("10s").await.unwrap().is_complete());
    assert!(matches!(led.await.unwrap(), Err(LockError::ShutDown)));
}

#[tokio::test]
async fn a_watch_tells_each_change() {
    let [one, two] = clients("watch");
    let mut watch = two.leader("s").watch();
    for value in ["a", "b"] {
        let mut terms = 0;
        one.leader("s")
            .value(value)
            .lead(async |term: &Term| {
                terms += 1;
                let info = watch.changed().await?.expect("a leader");
                assert_eq!((info.term, &*info.value), (term.number(), value));
                assert!(info.holder.site.starts_with("s at "), "{info:?}");
                Ok::<_, LockError>(())
            })
            .await
            .unwrap();
        assert_eq!(watch.changed().await.unwrap(), None);
    }
}

#[test]
fn unusable_options_are_errors() {
    let config = Config::new("memory://")
        .unwrap()
        .lease(Duration::from_secs(4));
    let client = Client::connect(config).unwrap();
    for seat in [
        client.leader("s").stop_within("2100ms"),
        client.leader("s").stop_within("soon"),
        client
            .leader("s")
            .stop_within("50ms")
            .on_overrun(super::Overrun::Abort),
        client.leader("s").progress(-1),
        client.leader("s").value("x".repeat(1025)),
    ] {
        let led = seat.blocking_lead(|_| Ok::<_, LockError>(()));
        assert!(
            matches!(led, Err(LockError::InvalidOption { .. })),
            "{led:?}"
        );
    }
    client
        .leader("s")
        .stop_within(2)
        .blocking_lead(|_| Ok::<_, LockError>(()))
        .unwrap();
}
