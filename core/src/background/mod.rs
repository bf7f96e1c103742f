//! The background thread: one per client, with its own runtime. Locks thus work under any executor or none, and while
//! the program's runtime shuts down. User code does not run on this thread (`wait/aside`).

pub(crate) mod exit;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::base::clock;
use crate::base::error::SetupError;
use crate::base::wait::{self, DeferredWakes, Promise};
use crate::config::Settings;
use crate::observe::STORE;
use crate::queue::{ClientCore, NAP};
use crate::store::{self, MemberId, RandomId, Store};

/// How long to wait for answers to the last releases of an ending process. The ending thread waits a little longer.
const ANSWERS: Duration = Duration::from_millis(400);
/// How long to wait after that for subscribers to receive the last events.
const WORDS: Duration = Duration::from_millis(50);
const SOON: Duration = Duration::from_millis(1);
const LOOKS: u32 = 50;

async fn run(
    store: Arc<dyn Store>,
    driver: impl Future<Output = ()> + Send + 'static,
    core: Arc<ClientCore>,
) {
    let (driver, tick) = tasks(store, driver, core);
    let driver = tokio::spawn(driver);
    tick.await;
    let _ = driver.await;
}

/// The two tasks of a client: the driver of its store, and its timers. Each makes the other one end.
pub fn tasks(
    store: Arc<dyn Store>,
    driver: impl Future<Output = ()> + Send + 'static,
    core: Arc<ClientCore>,
) -> (
    impl Future<Output = ()> + Send,
    impl Future<Output = ()> + Send,
) {
    let ending = Ending(core.clone());
    let driver = async move {
        driver.await;
        drop(ending);
    };
    let tick = async move {
        tick(&core).await;
        store.close();
    };
    (driver, tick)
}

async fn tick(core: &ClientCore) {
    poll_fn(|cx| {
        core.set_background(Some(cx.waker().clone()));
        Poll::Ready(())
    })
    .await;
    while !core.is_closed() && !core.is_ending() {
        let next = core.tick();
        let wait = next.map(|next| clock::now().until(next).min(NAP));
        let mut timer = pin!(core.timers.wait(wait));
        poll_fn(|cx| match core.is_ending() {
            true => Poll::Ready(()),
            false => timer.as_mut().poll(cx),
        })
        .await;
    }
    if core.is_ending() {
        end(core).await;
    }
    core.set_background(None);
}

async fn end(core: &ClientCore) {
    core.begin_shutdown();
    let flushed = || {
        core.tick();
        core.is_flushed() || core.is_closed()
    };
    if !look_for(ANSWERS, flushed).await {
        wait::tell(|| {
            tracing::warn!(
                target: STORE,
                "the client ended before the store had confirmed all releases; the other locks are free when their leases end"
            );
        });
    }
    // Subscribers must not delay the end of the process.
    look_for(WORDS, wait::has_told).await;
    core.close();
}

/// Returns whether `done` returned `true` in time.
async fn look_for(limit: Duration, done: impl Fn() -> bool) -> bool {
    let ends = clock::now().after(limit);
    for look in 0.. {
        if done() {
            return true;
        }
        if look >= LOOKS && clock::now() >= ends {
            break;
        }
        tokio::time::sleep(SOON).await;
    }
    false
}

/// Dropped even after a panic, so that all waiting callers fail.
struct Ending(Arc<ClientCore>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Dropped before the end of [`wait`](Self::wait), it makes the background thread give up.
#[must_use = "dropped, it gives up"]
pub(crate) struct Starting {
    result: Arc<Promise<Started>>,
    /// Dropping it notifies the background thread.
    _given_up: oneshot::Sender<()>,
}

type Started = Result<Arc<ClientCore>, SetupError>;

impl Starting {
    pub(crate) async fn wait(self) -> Started {
        self.result.wait().await
    }

    pub(crate) fn blocking_wait(self) -> Started {
        self.result.blocking_wait()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let mut wakes = DeferredWakes::default();
        if let Some(Ok(core)) = self.result.close(&mut wakes) {
            core.orphan();
        }
        wakes.wake();
    }
}

/// Returns `false` if the caller no longer waits.
fn send(to: &Promise<Started>, result: Started) -> bool {
    let mut wakes = DeferredWakes::default();
    let sent = to.complete(result, &mut wakes).is_ok();
    wakes.wake();
    sent
}

fn serve(
    runtime: &Runtime,
    settings: Settings,
    to: &Promise<Started>,
    given_up: oneshot::Receiver<()>,
) -> Result<(), SetupError> {
    let id = MemberId::random();
    let given_up = async {
        let _ = given_up.await;
        None
    };
    let opening = async {
        Some(store::open(&*settings.engine, &settings.options, id, settings.lazily).await)
    };
    let Some(opened) = runtime.block_on(wait::first(given_up, opening)) else {
        return Ok(());
    };
    let (store, driver) = opened?;
    let core = ClientCore::new(settings, store.clone(), id);
    // Before any caller gets the core, because this marks a store that connects later as not connected.
    let driver = driver.run(core.clone());
    if send(to, Ok(core.clone())) {
        let ending = Ending(core.clone());
        runtime.block_on(run(store, driver, core));
        drop(ending);
    }
    Ok(())
}

/// Makes a client without a thread of its own; `None` if that store needs one.
#[cfg(any(test, feature = "test-util"))]
pub type StartHere = fn(&Settings) -> Option<Arc<ClientCore>>;

#[cfg(any(test, feature = "test-util"))]
thread_local! {
    /// For the clients of a test in virtual time.
    pub static START_HERE: std::cell::Cell<Option<StartHere>> = const { std::cell::Cell::new(None) };
}

pub(crate) fn start(settings: Settings) -> Result<Starting, SetupError> {
    #[cfg(any(test, feature = "test-util"))]
    if let Some(core) = START_HERE.get().and_then(|start| start(&settings)) {
        let result = Arc::new(Promise::default());
        send(&result, Ok(core));
        return Ok(Starting {
            result,
            _given_up: oneshot::channel().0,
        });
    }
    // From here on, a thread may lock values that a forked child must not share. If this fails, `exit::watch` warns.
    exit::register();
    let result = Arc::new(Promise::default());
    let (giving_up, given_up) = oneshot::channel();
    let to = result.clone();
    let body = move || {
        let run = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder
                .enable_all()
                .build()
                .map_err(SetupError::background_thread)?;
            let aside = wait::enter(&runtime);
            let served = serve(&runtime, settings, &to, given_up);
            // First end the runtime, which may log events or wake tasks. It does not wait for name look-ups.
            runtime.shutdown_background();
            drop(aside);
            served
        };
        let ended = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Ok(()));
        let error = ended.err();
        let error = error.unwrap_or_else(|| SetupError::background_thread("it ended at once"));
        // Has no effect if the caller already has a client.
        send(&to, Err(error));
    };
    wait::spawn("auto-mutex", body).map_err(SetupError::background_thread)?;
    Ok(Starting {
        result,
        _given_up: giving_up,
    })
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::base::error::LockError;
    use crate::base::name::Name;
    use crate::config::Config;

    #[tokio::test]
    async fn after_a_panic_of_the_driver_calls_are_told_that_and_not_of_a_shutdown() {
        let settings = Config::new("memory://").unwrap().validate().unwrap();
        let (id, options) = (MemberId::random(), &settings.options);
        let (store, _) = settings.engine.unconnected(options, id);
        let core = ClientCore::new(settings.clone(), store.clone(), id);
        let (driver, _tick) = tasks(store, async { panic!("as told") }, core.clone());
        tokio::spawn(driver).await.unwrap_err();
        core.abandon();
        let error = core.check(&Name::from_escaped("m")).unwrap_err();
        let LockError::Unavailable { source, .. } = error else {
            panic!("{error:?}");
        };
        assert!(source.to_string().contains("has panicked"), "{source}");
    }
}
