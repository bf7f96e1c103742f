//! Spans: `lock.acquire` ends with the grant, and `lock.held` covers the body.

use auto_mutex::{LockError, Mutex, MutexGuard, auto_mutex};
use auto_mutex_tests::events::{soon, waiters};
use auto_mutex_tests::spans::{Seen, Spans};
use auto_mutex_tests::stores::TestStore;
use tokio::task::yield_now;

const ACQUIRE: &str = "lock.acquire";
const HELD: &str = "lock.held";

#[auto_mutex(name = "spans", key = key, guard = g)]
async fn body(key: &str, spans: &Spans) -> Result<u64, LockError> {
    let acquired = spans.named(ACQUIRE).pop().expect("there is a span");
    assert!(acquired.is_closed, "it ends with the grant: {acquired:?}");
    assert_eq!(spans.current(), Some(HELD));
    let other = tokio::spawn({
        let spans = spans.clone();
        async move { spans.current() }
    });
    yield_now().await;
    // The other task has already run on this thread.
    assert!(other.is_finished());
    assert_eq!(other.await.expect("no panic"), None);
    assert_eq!(spans.current(), Some(HELD));
    Ok(g.fencing_token())
}

#[auto_mutex(name = "spans", key = key, guard = g)]
fn sync_body(key: &str, spans: &Spans) -> Result<u64, LockError> {
    assert_eq!(spans.current(), Some(HELD));
    Ok(g.fencing_token())
}

/// Returns the last span called `span`. The span must have ended, its field `name` must equal the argument `name`, and
/// no span may be current.
fn last(spans: &Spans, span: &str, name: &str) -> Seen {
    let last = spans.named(span).pop().expect("there is a span");
    assert!(last.is_closed, "{last:?}");
    assert_eq!(last.fields["name"], name, "{last:?}");
    assert_eq!(spans.current(), None);
    last
}

pub(crate) async fn a_call_has_a_span_until_its_grant_and_a_body_one_until_its_end(
    store: &dyn TestStore,
) {
    let client = store.member();
    let (spans, _listening) = Spans::listen();
    let check = |name: &str, token: u64, function: &str| {
        let acquired = last(&spans, ACQUIRE, name);
        assert_eq!(acquired.target, "auto_mutex::acquire");
        for (field, value) in [
            ("outcome", "acquired"),
            ("kind", "mutex"),
            ("token", &token.to_string()),
        ] {
            assert_eq!(acquired.fields[field], value, "{acquired:?}");
        }
        assert!(acquired.fields["waited_ms"].parse::<u64>().is_ok());
        let held = last(&spans, HELD, name);
        assert_eq!(held.target, "auto_mutex::hold");
        assert_eq!(held.fields["token"], token.to_string());
        for span in [acquired, held] {
            let site = &span.fields["site"];
            assert!(
                site.contains(function) && site.contains("spans.rs:"),
                "{site}"
            );
        }
    };
    let token = client.scope(body("a", &spans)).await.unwrap();
    check("suite:spans:a", token, "::body at ");
    let token = client.blocking_scope(|| sync_body("b", &spans)).unwrap();
    check("suite:spans:b", token, "::sync_body at ");
    let inside = async |guard: &MutexGuard| {
        assert_eq!(spans.current(), Some(HELD));
        yield_now().await;
        assert_eq!(spans.current(), Some(HELD));
        guard.fencing_token()
    };
    let token = client.mutex("c").synchronize(inside).await.unwrap();
    check("suite:c", token, "c at ");
    let inside = |guard: &MutexGuard| {
        assert_eq!(spans.current(), Some(HELD));
        guard.fencing_token()
    };
    let token = client.mutex("d").blocking_synchronize(inside).unwrap();
    check("suite:d", token, "d at ");
    let joined = client.multi(["e2", "e1"]).synchronize(async |_| ()).await;
    joined.unwrap();
    last(&spans, ACQUIRE, "suite:e1,suite:e2");
    last(&spans, HELD, "suite:e1,suite:e2");
    // A guard taken by hand has no body, so it has no such span.
    let held = spans.named(HELD).len();
    drop(client.mutex("f").lock().await.unwrap());
    last(&spans, ACQUIRE, "suite:f");
    assert_eq!(spans.named(HELD).len(), held);
    // An event about a call is logged inside a span of that call or, like this one, outside of all spans.
    let events = spans.events();
    let released = events
        .iter()
        .find(|event| event.text.contains("lock released"));
    let released = released.expect("it is told");
    assert_eq!(
        (released.target, released.inside),
        ("auto_mutex::hold", None)
    );
}

pub(crate) async fn the_span_of_a_wait_names_who_held_the_lock(store: &dyn TestStore) {
    let (client, there) = (store.member(), store.member());
    let (spans, _listening) = Spans::listen();
    let held = there.mutex("m").lock().await.unwrap();
    let mutex: Mutex = client.mutex("m");
    let call = tokio::spawn(async move { mutex.lock().await });
    waiters(&there.mutex("m"), 1).await;
    let waiting = spans.named(ACQUIRE).pop().expect("there is a span");
    assert!(!waiting.is_closed && !waiting.fields.contains_key("token"));
    drop(held);
    drop(soon("its turn", call).await.unwrap().unwrap());
    let here = format!("m at {}:", file!());
    let waited = last(&spans, ACQUIRE, "suite:m");
    assert!(waited.fields["holder"].starts_with(&here), "{waited:?}");
    assert_eq!(waited.fields["outcome"], "acquired");

    let held = there.mutex("m").lock().await.unwrap();
    let late = client.mutex("m").block("20ms").lock().await;
    assert!(late.is_err());
    let late = last(&spans, ACQUIRE, "suite:m");
    assert_eq!(late.fields["outcome"], "timeout");
    assert!(late.fields["holder"].starts_with(&here), "{late:?}");
    drop(held);
}
