//! The engine: one background thread per client, with a runtime of its own.
//!
//! The engine owns the connection and the timers. So locks work under any executor, without an executor, and while the
//! program's runtime shuts down. No code of users runs on this thread: wakers, subscribers and observers have threads
//! of their own (`wait/aside`).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::clock::Instant;
use crate::config::Settings;
use crate::error::SetupError;
use crate::exit;
use crate::member::NAP;
use crate::queue::Member;
use crate::store::{self, MemberId, Store};
use crate::wait::{self, DeferredWakes, Promise};

/// When the process ends, the engine waits this long for the answers to the last releases. The thread that ends the
/// process waits for a little longer.
const ANSWERS: Duration = Duration::from_millis(400);
/// When the process ends, the engine waits this long for subscribers to receive the last events.
const WORDS: Duration = Duration::from_millis(50);
/// The pause between two checks for the answers or the subscribers.
const SOON: Duration = Duration::from_millis(1);
const LOOKS: u32 = 50;

/// Runs the store and the timers until the member is closed.
async fn run(
    store: Arc<dyn Store>,
    driver: impl Future<Output = ()> + Send + 'static,
    member: Arc<Member>,
) {
    let ending = Ending(member.clone());
    let driver = tokio::spawn(async move {
        driver.await;
        drop(ending);
    });
    tick(&member).await;
    store.close();
    let _ = driver.await;
}

async fn tick(member: &Member) {
    poll_fn(|cx| {
        member.set_engine(Some(cx.waker().clone()));
        Poll::Ready(())
    })
    .await;
    while !member.is_closed() && !member.is_ending() {
        let wait = member.tick().map(|next| {
            let wait = Instant::now().until(next);
            wait.min(NAP)
        });
        unless_ending(member, member.timers().wait(wait)).await;
    }
    if member.is_ending() {
        end(member).await;
    }
    member.set_engine(None);
}

/// Waits for `other`, or until the process ends.
async fn unless_ending(member: &Member, other: impl Future<Output = ()>) {
    let mut other = pin!(other);
    poll_fn(|cx| match member.is_ending() {
        true => Poll::Ready(()),
        false => other.as_mut().poll(cx),
    })
    .await;
}

/// Called when the process ends: releases all locks, and waits for the answers, but not for long.
async fn end(member: &Member) {
    member.start_closing();
    let flushed = || {
        member.tick();
        member.is_flushed() || member.is_closed()
    };
    if !look_for(ANSWERS, flushed).await {
        wait::tell(|| {
            tracing::warn!(
                "the client ended before the store had answered all releases; a lock without an answer is free when its lease ends"
            );
        });
    }
    // Gives subscribers time to write their last events, but does not let them delay the end of the process.
    look_for(WORDS, wait::has_told).await;
    member.close();
}

/// Calls `done` again and again until it returns `true`, or until `limit` is over. Returns whether `done` returned
/// `true`.
async fn look_for(limit: Duration, done: impl Fn() -> bool) -> bool {
    let ends = Instant::now().after(limit);
    for look in 0.. {
        if done() {
            return true;
        }
        if look >= LOOKS && Instant::now() >= ends {
            break;
        }
        tokio::time::sleep(SOON).await;
    }
    false
}

/// Dropped when the engine's thread or the driver ends, for whatever reason. Then the member fails all callers that
/// still wait.
struct Ending(Arc<Member>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// An engine that opens its store. If this value is dropped before the end of [`wait`](Self::wait), the engine gives
/// up.
#[must_use = "dropped, it gives up"]
pub(crate) struct Starting {
    result: Arc<Promise<Started>>,
    given_up: Arc<Promise<()>>,
}

type Started = Result<Arc<Member>, SetupError>;

impl Starting {
    /// Waits until the store is open, for the connect timeout at most, and returns the member.
    pub(crate) async fn wait(self) -> Started {
        self.result.wait().await
    }

    /// Does the same as [`wait`](Self::wait), and blocks the thread.
    pub(crate) fn blocking_wait(self) -> Started {
        self.result.blocking_wait()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let mut wakes = DeferredWakes::default();
        if let Some(Ok(member)) = self.result.close(&mut wakes) {
            member.orphan();
        }
        let _ = self.given_up.complete((), &mut wakes);
        wakes.wake();
    }
}

/// The engine's side of [`Starting`].
struct Starter {
    result: Arc<Promise<Started>>,
    given_up: Arc<Promise<()>>,
}

impl Starter {
    /// Sends `result` to the caller. Returns `false` if the caller no longer waits.
    fn send(&self, result: Started) -> bool {
        let mut wakes = DeferredWakes::default();
        let sent = self.result.complete(result, &mut wakes).is_ok();
        wakes.wake();
        sent
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        // This has no effect if another result was sent before.
        self.send(Err(SetupError::engine("it ended at once")));
    }
}

/// Opens the store, gives the member to the caller, and runs the engine until its end.
fn serve(runtime: &Runtime, settings: Settings, starter: Starter) {
    let id = MemberId::random();
    let given_up = async {
        starter.given_up.wait().await;
        None
    };
    let opening = async {
        Some(store::open(&*settings.engine, &settings.options(), id, settings.lazily).await)
    };
    let (store, driver) = match runtime.block_on(wait::first(given_up, opening)) {
        Some(Ok(opened)) => opened,
        Some(Err(error)) => {
            starter.send(Err(error));
            return;
        }
        // The caller has given up.
        None => return,
    };
    let member = Member::new(settings, store.clone());
    // `run` is called before any caller gets the member, because it marks a store that connects later
    // (`connect_lazily`) as not connected.
    let driver = driver.run(member.clone());
    if starter.send(Ok(member.clone())) {
        drop(starter);
        let ending = Ending(member.clone());
        runtime.block_on(run(store, driver, member));
        drop(ending);
    }
}

/// Opens the store on a new thread, which then runs the engine.
pub(crate) fn start(settings: Settings) -> Result<Starting, SetupError> {
    // From here on, a thread may lock values that a forked child must not share. If the system refuses this,
    // `exit::watch` warns.
    exit::register();
    let (result, given_up) = (Arc::new(Promise::new()), Arc::new(Promise::new()));
    let starter = Starter {
        result: result.clone(),
        given_up: given_up.clone(),
    };
    let body = move || {
        let runtime = match tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        {
            Ok(runtime) => runtime,
            Err(error) => {
                starter.send(Err(SetupError::engine(error)));
                return;
            }
        };
        let aside = wait::enter(&runtime);
        serve(&runtime, settings, starter);
        // Dropping the runtime may log events or wake tasks. The threads of `aside` must handle these, so they end
        // later.
        drop(runtime);
        drop(aside);
    };
    thread::Builder::new()
        .name("auto-mutex".to_owned())
        .spawn(body)
        .map_err(SetupError::engine)?;
    Ok(Starting { result, given_up })
}
