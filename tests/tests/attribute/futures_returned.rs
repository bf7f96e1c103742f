//! Functions that return a future: their own code runs at the call, and the future runs under the lock.

#![allow(
    clippy::manual_async_fn,
    reason = "functions that return a future are what is tried"
)]

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::{LockError, auto_mutex};

use crate::support::{named_client, scoped_on};

#[auto_mutex(name = "f")]
fn made(
    calls: &AtomicU32,
    early: bool,
) -> impl Future<Output = Result<bool, LockError>> + Send + '_ {
    calls.fetch_add(1, Ordering::SeqCst);
    let early = early;
    async move {
        calls.fetch_add(1, Ordering::SeqCst);
        if early {
            return Ok(false);
        }
        auto_mutex::Mutex::new("f").is_locked().await
    }
}

#[test]
fn its_own_code_runs_at_the_call_and_the_future_under_the_lock() {
    let (client, calls) = (named_client(), AtomicU32::new(0));
    scoped_on(&client, async {
        let future = made(&calls, false);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert!(!client.mutex("f").is_locked().await.unwrap());
        assert!(future.await.unwrap());
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        assert!(!made(&calls, true).await.unwrap());
    });
}

/// Counts how often it is displayed, and that it is dropped.
struct Argument<'a>(&'a AtomicU32, &'a AtomicU32);

impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fetch_add(1, Ordering::SeqCst);
        f.write_str("key")
    }
}

impl Drop for Argument<'_> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

impl<'a> Argument<'a> {
    #[auto_mutex(name = "f")]
    async fn consumed(
        self,
        _: Argument<'a>,
        (_one, _): (Argument<'a>, Argument<'a>),
        _other: Argument<'a>,
    ) -> Result<(), LockError> {
        Ok(())
    }
}

#[auto_mutex(name = "f", key = (key, keys.0))]
async fn keyed(key: &Argument<'_>, keys: (Argument<'_>, u8)) -> Result<(), LockError> {
    Ok(())
}

#[test]
fn an_async_function_owns_its_arguments_and_does_nothing_before_it_is_polled() {
    let (shown, dropped) = (AtomicU32::new(0), AtomicU32::new(0));
    let argument = || Argument(&shown, &dropped);
    scoped_on(&named_client(), async {
        let future = argument().consumed(argument(), (argument(), argument()), argument());
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
        drop(future);
        assert_eq!(dropped.load(Ordering::SeqCst), 5);
        let future = argument().consumed(argument(), (argument(), argument()), argument());
        future.await.unwrap();
        assert_eq!(dropped.load(Ordering::SeqCst), 10);

        let key = argument();
        let future = keyed(&key, (argument(), 1));
        assert_eq!(shown.load(Ordering::SeqCst), 0);
        future.await.unwrap();
        assert_eq!(shown.load(Ordering::SeqCst), 2);
        assert_eq!(dropped.load(Ordering::SeqCst), 11);
    });
}

#[test]
fn an_early_return_does_not_slip_past_the_lock() {
    #[auto_mutex(name = "f")]
    fn either(early: bool) -> Pin<Box<dyn Future<Output = Result<bool, LockError>> + Send>> {
        if early {
            return Box::pin(async { auto_mutex::Mutex::new("f").is_locked().await });
        }
        Box::pin(ready(Ok(false)))
    }
    let client = named_client();
    assert!(scoped_on(&client, either(true)).unwrap());
    assert!(!scoped_on(&client, either(false)).unwrap());
}

#[test]
fn nothing_of_an_async_block_runs_at_the_call() {
    #[auto_mutex(name = "f", key = count(n), guard = g)]
    fn block(n: &AtomicU32) -> impl Future<Output = Result<String, LockError>> + Send + '_ {
        async move {
            count(n);
            Ok(g.name().to_owned())
        }
    }
    #[auto_mutex(name = "f", key = count(n))]
    fn boxed(n: &AtomicU32) -> Pin<Box<dyn Future<Output = Result<u32, LockError>> + Send + '_>> {
        Box::pin(async move { Ok(count(n)) })
    }
    fn count(n: &AtomicU32) -> u32 {
        n.fetch_add(1, Ordering::SeqCst)
    }
    let (client, n) = (named_client(), AtomicU32::new(0));
    scoped_on(&client, async {
        let (block, boxed) = (block(&n), boxed(&n));
        assert_eq!(n.load(Ordering::SeqCst), 0);
        assert_eq!(block.await.unwrap(), "t:f:0");
        assert_eq!(boxed.await.unwrap(), 3);
    });
}

#[test]
fn handlers_answer_in_the_future() {
    #[auto_mutex(name = "busy", block = 0, on_timeout = late, on_error = skip)]
    fn block(n: u32) -> impl Future<Output = u32> {
        async move { n }
    }
    #[auto_mutex(name = "busy", block = 0, on_timeout = |n| n + 20, on_error = |_| 30)]
    fn made(n: u32) -> Pin<Box<dyn Future<Output = u32> + Send>> {
        let m = n + 1;
        Box::pin(ready(m))
    }
    async fn late(n: u32) -> u32 {
        tokio::task::yield_now().await;
        n + 10
    }
    let client = named_client();
    assert_eq!(
        scoped_on(&client, async { (block(1).await, made(1).await) }),
        (1, 2)
    );
    let _held = client.mutex("busy").blocking_lock().unwrap();
    assert_eq!(
        scoped_on(&client, async { (block(1).await, made(1).await) }),
        (11, 21)
    );
}

#[test]
fn a_loss_ends_a_made_future_too() {
    #[auto_mutex(name = "f", expire = "20ms")]
    fn forever(n: u32) -> impl Future<Output = Result<u32, LockError>> {
        let n = n + 1;
        async move {
            std::future::pending::<()>().await;
            Ok(n)
        }
    }
    let result = scoped_on(&named_client(), forever(1));
    assert!(matches!(result, Err(LockError::Lost { .. })), "{result:?}");
}
