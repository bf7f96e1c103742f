//! `Config::slow`: a long wait and a long hold are told, with who, where and since when. The log is taken process-wide; all other
//! tests leave warnings alone.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::stores::TestStore;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

const WAITS: &str = "has been waiting for a lock";
const HOLDS: &str = "has been held";

struct Hears;

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Hears {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        if text.0.contains(WAITS) || text.0.contains(HOLDS) {
            let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
            told.push(text.0);
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Begins to listen. Returns a name of its own for a test on one store.
fn listen() -> String {
    static LISTEN: Once = Once::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    LISTEN.call_once(|| tracing::subscriber::set_global_default(Hears).expect("the only one"));
    format!("slow-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// What was told of a lock.
fn told(name: &str, what: &str) -> Vec<String> {
    let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("name=suite:{name} ");
    let found = told
        .iter()
        .filter(|text| text.contains(&name) && text.contains(what));
    found.cloned().collect()
}

fn member(store: &dyn TestStore, slow: Duration) -> Client {
    Client::connect(store.config().slow(slow)).expect("a client")
}

#[auto_mutex(name = "slow", key = name)]
async fn hold(name: &str, inside: impl AsyncFnOnce()) -> Result<(), LockError> {
    inside().await;
    Ok(())
}

const SOON: Duration = Duration::from_millis(40);

pub(crate) async fn a_long_wait_and_a_long_hold_are_told(store: &dyn TestStore) {
    let key = listen();
    let name = format!("slow:{key}");
    let (holder, client) = (member(store, SOON), member(store, SOON));
    let call = holder.scope(hold(&key, async || {
        let (client, key) = (client.clone(), key.clone());
        let waits =
            tokio::spawn(async move { client.clone().scope(hold(&key, async || {})).await });
        becomes("both are told, and once more after that", async || {
            told(&name, WAITS).len() >= 2 && told(&name, HOLDS).len() >= 2
        })
        .await;
        waits.abort();
    }));
    soon("the call ends", call).await.expect("the lock");
    let pid = format!("(pid {} on ", std::process::id());
    for text in told(&name, "") {
        assert!(text.contains("slow.rs:") && text.contains(&pid), "{text}");
        assert!(text.contains("::hold at "), "{text}");
    }
    // An answer has named the holder by the second time, and said the place.
    let text = told(&name, WAITS).pop().expect("told");
    assert!(
        text.contains("waited=") && text.contains("holder=") && text.contains("calls=1"),
        "{text}"
    );
    let text = told(&name, HOLDS).pop().expect("told");
    assert!(text.contains("held=") && text.contains("token="), "{text}");
}

pub(crate) async fn the_place_in_line_is_told(store: &dyn TestStore) {
    let name = listen();
    let members = [
        member(store, SOON),
        member(store, SOON),
        member(store, SOON),
    ];
    let guard = members[0].mutex(&name).lock().await.expect("free");
    let [_, first, second] = &members;
    let mut waiting = Vec::new();
    for (client, place) in [(first, 1), (second, 2)] {
        let mutex = client.mutex(&name);
        waiting.push(tokio::spawn(async move { mutex.lock().await.map(drop) }));
        becomes("it waits", async || {
            guard.check().is_ok()
                && members[0]
                    .mutex(&name)
                    .info()
                    .await
                    .expect("info")
                    .waiters
                    .len()
                    == place
        })
        .await;
    }
    becomes("both places are told", async || {
        let told = told(&name, WAITS);
        let place = |place: u32| format!("place={place} ");
        [1, 2]
            .iter()
            .all(|n| told.iter().any(|text| text.contains(&place(*n))))
    })
    .await;
    drop(guard);
    for waiter in waiting {
        soon("its turn", waiter)
            .await
            .expect("no panic")
            .expect("the lock");
    }
}

pub(crate) async fn zero_turns_the_warnings_off(store: &dyn TestStore) {
    let (silent, loud) = (listen(), listen());
    let (quiet, client) = (member(store, Duration::ZERO), member(store, SOON));
    let guards = [
        quiet.mutex(&silent).lock().await.expect("free"),
        client.mutex(&loud).lock().await.expect("free"),
    ];
    let waits = [(&quiet, &silent), (&client, &loud)].map(|(client, name)| {
        let mutex = client.mutex(name);
        tokio::spawn(async move { mutex.lock().await.map(drop) })
    });
    becomes("the other one is told", async || {
        told(&loud, WAITS).len() >= 2
    })
    .await;
    assert_eq!(told(&silent, ""), [""; 0]);
    drop(guards);
    for waiter in waits {
        soon("its turn", waiter)
            .await
            .expect("no panic")
            .expect("the lock");
    }
}
