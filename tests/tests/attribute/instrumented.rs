//! `#[tracing::instrument]` with our attributes: below them its span covers the wait and the body, above them only the
//! body.

use auto_mutex::{LockError, auto_mutex, auto_read};
use auto_mutex_tests::spans::Spans;
use tokio::task::yield_now;
use tracing::instrument;

use crate::support::named_client;

#[instrument(skip_all, fields(month))]
#[auto_mutex(key = month)]
async fn above(month: u32, spans: &Spans) -> Result<u32, LockError> {
    yield_now().await;
    assert_eq!(spans.current(), Some("above"));
    Ok(month)
}

#[auto_mutex(key = month)]
#[instrument(skip_all)]
async fn below(month: u32, spans: &Spans) -> Result<u32, LockError> {
    yield_now().await;
    assert_eq!(spans.current(), Some("lock.held"));
    Ok(month)
}

#[instrument(skip_all)]
#[auto_mutex]
fn above_sync(spans: &Spans) -> Result<(), LockError> {
    assert_eq!(spans.current(), Some("above_sync"));
    Ok(())
}

#[auto_mutex]
#[instrument(skip_all)]
fn below_sync(spans: &Spans) -> Result<(), LockError> {
    assert_eq!(spans.current(), Some("lock.held"));
    Ok(())
}

struct Ledger;

#[auto_read]
impl Ledger {
    #[instrument(skip_all)]
    async fn total(&self, spans: &Spans) -> Result<u32, LockError> {
        yield_now().await;
        assert_eq!(spans.current(), Some("lock.held"));
        Ok(7)
    }
}

/// Returns the parents of the user's span, of `lock.acquire` and of `lock.held`.
fn parents(spans: &Spans, own: &str) -> [Option<&'static str>; 3] {
    [own, "lock.acquire", "lock.held"].map(|name| {
        let span = spans.named(name).pop().expect("there is one");
        assert!(span.is_closed, "{span:?}");
        span.parent
    })
}

#[test]
fn its_span_covers_the_wait_if_it_stands_below() {
    let client = named_client();
    let (spans, _listening) = Spans::listen();
    let run = |call: &mut dyn FnMut() -> Result<u32, LockError>| {
        client.blocking_scope(call).expect("the lock")
    };
    let runtime = auto_mutex_tests::runtimes::current_thread();
    assert_eq!(run(&mut || runtime.block_on(below(5, &spans))), 5);
    let inside = [None, Some("below"), Some("below")];
    assert_eq!(parents(&spans, "below"), inside);
    assert_eq!(run(&mut || runtime.block_on(Ledger.total(&spans))), 7);
    let inside = [None, Some("total"), Some("total")];
    assert_eq!(parents(&spans, "total"), inside);
    run(&mut || below_sync(&spans).map(|()| 0));
    let inside = [None, Some("below_sync"), Some("below_sync")];
    assert_eq!(parents(&spans, "below_sync"), inside);
}

#[test]
fn its_span_covers_the_body_alone_if_it_stands_above() {
    let client = named_client();
    let (spans, _listening) = Spans::listen();
    let runtime = auto_mutex_tests::runtimes::current_thread();
    let call = client.scope(above(5, &spans));
    assert_eq!(runtime.block_on(call).expect("the lock"), 5);
    let outside = [Some("lock.held"), None, None];
    assert_eq!(parents(&spans, "above"), outside);
    client
        .blocking_scope(|| above_sync(&spans))
        .expect("the lock");
    assert_eq!(parents(&spans, "above_sync"), outside);
}
