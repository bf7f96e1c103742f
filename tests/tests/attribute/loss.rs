//! The lock is lost while the body runs.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Waker};
use std::time::Duration;

use auto_mutex::{Client, LockError, LossCause, MutexGuard, auto_mutex};
use tokio::sync::Notify;

use crate::support::{Witness, named_client, scoped_on};

async fn break_it(client: &Client, inside: &Notify) {
    inside.notified().await;
    assert!(client.mutex("l").force_unlock().await.unwrap());
}

/// The executor is busy from the grant until `expire` has passed, so the call is polled too late.
#[test]
fn no_body_begins_under_a_lock_that_is_lost() {
    #[auto_mutex(name = "l", expire = "200ms")]
    async fn cancels(witness: &Witness) -> Result<(), LockError> {
        witness.visit().await;
        Ok(())
    }
    #[auto_mutex(name = "l", expire = "200ms", on_lost = finish)]
    async fn finishes(witness: &Witness) -> Result<(), LockError> {
        witness.visit().await;
        Ok(())
    }
    fn late(call: impl Future<Output = Result<(), LockError>>, witness: &Witness) {
        let client = named_client();
        let mutex = client.mutex("l");
        let guard = mutex.blocking_lock().unwrap();
        let mut call = pin!(client.scope(call));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut cx).is_pending());
        drop(guard);
        // The call is the first in the queue, so `mutex` gets the lock only after `expire` has ended the call's grant.
        let guard = mutex.blocking_lock().unwrap();
        assert!(call.as_mut().poll(&mut cx).is_pending());
        assert_eq!(witness.calls(), 0);
        drop(guard);
        // The lock is granted to the call again. Now the call is polled soon enough, unless the machine stalls at this
        // moment.
        match futures::executor::block_on(call) {
            Ok(()) => assert_eq!(witness.calls(), 1),
            Err(error) => assert!(matches!(error, LockError::Lost { .. }), "{error:?}"),
        }
    }
    let witness = Witness::default();
    late(cancels(&witness), &witness);
    let witness = Witness::default();
    late(finishes(&witness), &witness);
}

/// The body blocks its thread until `expire` is over, so nothing can end it.
#[test]
fn a_body_that_ends_after_the_loss_may_fail() {
    const EXPIRE: Duration = Duration::from_millis(20);
    async fn late() -> &'static str {
        std::thread::sleep(2 * EXPIRE);
        "done"
    }
    #[auto_mutex(name = "l", expire = EXPIRE)]
    async fn cancels() -> Result<&'static str, LockError> {
        Ok(late().await)
    }
    #[auto_mutex(name = "l", expire = EXPIRE, on_lost = fail)]
    async fn fails() -> Result<&'static str, LockError> {
        Ok(late().await)
    }
    #[auto_mutex(name = "l", expire = EXPIRE, on_lost = fail, guard = g)]
    async fn with_a_guard() -> Result<&'static str, LockError> {
        assert!(!g.is_lost());
        Ok(late().await)
    }
    #[auto_mutex(name = "l", expire = EXPIRE, on_lost = fail, on_timeout = skip, on_error = |error| error.to_string())]
    async fn answered() -> String {
        late().await.to_owned()
    }
    #[auto_mutex(name = "l", on_lost = fail)]
    async fn in_time() -> Result<&'static str, LockError> {
        Ok("in time")
    }
    let client = named_client();
    assert_eq!(scoped_on(&client, cancels()).unwrap(), "done");
    for result in [
        scoped_on(&client, fails()),
        scoped_on(&client, with_a_guard()),
    ] {
        let Err(LockError::Lost { cause, .. }) = result else {
            panic!("{result:?}");
        };
        assert_eq!(cause, LossCause::Expired);
    }
    assert!(scoped_on(&client, answered()).contains("lost"));
    assert_eq!(scoped_on(&client, in_time()).unwrap(), "in time");
}

#[test]
fn on_error_answers_a_loss() {
    #[auto_mutex(name = "l", on_timeout = skip, on_error = lost)]
    async fn path(inside: &Notify) -> String {
        inside.notify_one();
        std::future::pending().await
    }
    #[auto_mutex(name = "l", on_timeout = || unreachable!(), on_error = |error, inside| { inside.notify_one(); lost(error) })]
    async fn closure(inside: &Notify) -> String {
        inside.notify_one();
        std::future::pending().await
    }
    fn lost(error: LockError) -> String {
        error.to_string()
    }
    let (client, inside) = (named_client(), Notify::new());
    scoped_on(&client, async {
        let (text, ()) = tokio::join!(path(&inside), break_it(&client, &inside));
        assert!(text.contains("lock `t:l` lost"), "{text}");
        let (text, ()) = tokio::join!(closure(&inside), break_it(&client, &inside));
        assert!(text.contains("lock `t:l` lost"), "{text}");
        inside.notified().await;
    });
}

type Answer = Option<Result<(), LockError>>;

/// Calls for the lock of the body when it is dropped, and stores the result.
struct Nested<'a>(&'a Mutex<Answer>);

impl Nested<'_> {
    async fn late(self) -> Result<(), LockError> {
        Ok(())
    }
}

impl Drop for Nested<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = Some(nested());
    }
}

#[auto_mutex(name = "l", block = 0)]
fn nested() -> Result<(), LockError> {
    Ok(())
}

/// Whatever a body owns is dropped while its lock is held, as after a normal end, and nested calls re-enter.
#[test]
fn a_body_is_dropped_inside_its_lock() {
    #[auto_mutex(name = "l")]
    async fn bare(nested: Nested<'_>) -> Result<(), LockError> {
        let _nested = nested;
        std::future::pending().await
    }
    #[auto_mutex(name = "l", guard = g)]
    async fn guarded(nested: Nested<'_>) -> Result<(), LockError> {
        let _nested = nested;
        g.check()?;
        std::future::pending().await
    }
    #[auto_mutex(name = "l", on_lost = finish)]
    async fn finishing(nested: Nested<'_>) -> Result<(), LockError> {
        let _nested = nested;
        std::future::pending().await
    }
    #[auto_mutex(name = "l", on_timeout = Nested::late)]
    async fn answered(nested: Nested<'_>) -> Result<(), LockError> {
        std::future::pending::<()>().await;
        drop(nested);
        Ok(())
    }
    async fn by_hand(nested: Nested<'_>) -> Result<(), LockError> {
        let client = auto_mutex::client()?;
        let wait = async |_: &MutexGuard| {
            let _nested = nested;
            std::future::pending().await
        };
        client.mutex("l").reentrant().synchronize(wait).await?
    }
    fn check<'a, F>(call: impl Fn(Nested<'a>) -> F, ends: bool, answer: &'a Mutex<Answer>)
    where
        F: Future<Output = Result<(), LockError>>,
    {
        let client = named_client();
        let poll = |call: &mut Pin<Box<F>>| {
            let mut cx = Context::from_waker(Waker::noop());
            client.blocking_scope(|| call.as_mut().poll(&mut cx))
        };
        let mut cancelled = Box::pin(call(Nested(answer)));
        assert!(poll(&mut cancelled).is_pending());
        client.blocking_scope(|| drop(cancelled));
        let nested = answer.lock().unwrap().take();
        nested.expect("an answer").expect("the lock of the body");
        assert!(!client.mutex("l").blocking_is_locked().unwrap());

        if !ends {
            return;
        }
        let mut lost = Box::pin(call(Nested(answer)));
        assert!(poll(&mut lost).is_pending());
        assert!(client.mutex("l").blocking_force_unlock().unwrap());
        let lost = client.blocking_scope(|| futures::executor::block_on(lost));
        assert!(matches!(lost, Err(LockError::Lost { .. })), "{lost:?}");
        let nested = answer.lock().unwrap().take().expect("an answer");
        assert!(matches!(nested, Err(LockError::Lost { .. })), "{nested:?}");
    }
    let answer = Mutex::default();
    check(bare, true, &answer);
    check(guarded, true, &answer);
    check(finishing, false, &answer);
    check(answered, true, &answer);
    check(by_hand, true, &answer);
}

#[test]
fn with_finish_the_body_runs_on() {
    #[auto_mutex(name = "l", on_lost = finish, guard = g)]
    async fn guarded(inside: &Notify) -> Result<bool, LockError> {
        inside.notify_one();
        g.lost().await;
        tokio::task::yield_now().await;
        Ok(g.is_lost())
    }
    #[auto_mutex(name = "l", on_lost = finish)]
    async fn plain(inside: &Notify) -> Result<bool, LockError> {
        let held = auto_mutex::current()?;
        inside.notify_one();
        while held.check().is_ok() {
            tokio::task::yield_now().await;
        }
        // The loss is known here: a body that is cancelled does not go on.
        tokio::task::yield_now().await;
        Ok(true)
    }
    let (client, inside) = (named_client(), Notify::new());
    scoped_on(&client, async {
        let (result, ()) = tokio::join!(guarded(&inside), break_it(&client, &inside));
        assert!(result.unwrap());
        let (result, ()) = tokio::join!(plain(&inside), break_it(&client, &inside));
        assert!(result.unwrap());
    });
}

/// A body that runs to its end returns its value even if the lock is lost.
#[test]
fn what_a_body_returns_after_a_loss_is_returned() {
    #[auto_mutex(name = "l", guard = g)]
    async fn ends(client: &Client) -> Result<bool, LockError> {
        assert!(client.mutex("l").blocking_force_unlock()?);
        while !g.is_lost() {
            std::thread::yield_now();
        }
        Ok(true)
    }
    let client = named_client();
    let ends = client.scope(ends(&client));
    assert!(futures::executor::block_on(ends).unwrap());
}
