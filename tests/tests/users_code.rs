//! Subscribers may block or panic where the library calls them, and no client may depend on them. (The core has the
//! tests of wakers.)

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{LONG, becomes, finishes, soon};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::Redis;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

fn client(url: &str) -> Client {
    let config = Config::new(url).unwrap().namespace("suite");
    Client::connect(
        config
            .lease(LONG)
            .store_timeout("20s")
            .connect_timeout("60s"),
    )
    .unwrap()
}

/// A gate that is closed until the test opens it, or ends.
struct Gate(Mutex<Receiver<()>>);

impl Gate {
    fn new() -> (Sender<()>, Self) {
        let (opens, gate) = channel();
        (opens, Self(Mutex::new(gate)))
    }

    fn pass(&self) {
        let gate = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = gate.recv();
    }
}

struct Says(bool);

impl Visit for Says {
    fn record_debug(&mut self, _: &Field, value: &dyn std::fmt::Debug) {
        self.0 |= format!("{value:?}").contains("the lock store is lost");
    }
}

/// A subscriber that passes each event to a function.
struct At<F>(F);

impl<F: Fn(&Event<'_>) + Send + Sync + 'static> Subscriber for At<F> {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        (self.0)(event);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_subscriber_that_blocks_keeps_no_lease_from_being_renewed() {
    let (opens, gate) = Gate::new();
    let stands = Arc::new(AtomicBool::new(false));
    let stood = stands.clone();
    // Blocks at the event about the loss of the store.
    let slow = At(move |event: &Event<'_>| {
        let mut says = Says(false);
        event.record(&mut says);
        if says.0 {
            stood.store(true, Ordering::SeqCst);
            gate.pass();
        }
    });
    tracing::subscriber::set_global_default(slow).unwrap();
    let redis = Redis::start();
    let proxy = Proxy::start(redis.port());
    let client = client(&redis.url_at(proxy.port()));
    let guard = client.mutex("m").lock().await.unwrap();
    proxy.cut();
    becomes("it is told", async || stands.load(Ordering::SeqCst)).await;
    // The subscriber blocks until the end of this test, and the engine reconnects in the meantime.
    soon("confirmed", guard.refresh(LONG)).await.unwrap();
    assert!(soon("released", guard.unlock()).await.unwrap());
    drop(opens);
}

#[test]
fn a_subscriber_that_panics_at_a_warning_makes_no_later_call_panic() {
    let mutex = auto_mutex::Mutex::new("long");
    let calls: [&dyn Fn(); 2] = [&|| drop(mutex.clone().block("90000s")), &|| {
        drop(Client::connect("memory://panics"))
    }];
    tracing::subscriber::with_default(At(|_: &Event<'_>| panic!("as told")), || {
        for call in calls {
            // The warning comes once per process, perhaps in another test.
            let _ = catch_unwind(AssertUnwindSafe(call));
            call();
        }
    });
}

#[test]
fn a_subscriber_that_setup_calls_may_call_setup() {
    // Its weaknesses are logged.
    let redis = Redis::start();
    let url = redis.url();
    finishes("setup", move || {
        let says = At(|_: &Event<'_>| drop(auto_mutex::setup("memory://inner")));
        let outer = tracing::subscriber::with_default(says, || auto_mutex::setup(url.as_str()));
        assert!(
            matches!(outer, Err(auto_mutex::SetupError::AlreadySetUp)),
            "{outer:?}"
        );
    });
    drop(auto_mutex::Mutex::new("m").blocking_lock().unwrap());
}
