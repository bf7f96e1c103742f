//! [`Reconnector`]: the driver of a store with one connection. Makes the first connection, unless set-up did, and
//! replaces lost ones until [`Store::close`] is called.

use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use auto_mutex_seam::store::{
    Boxed, Closed, ConnectError, Driver, Events, Node, NodeChange, Request, STORE, Store, first,
    not_yet, tell,
};
use auto_mutex_seam::{SetupError, StoreError};

use super::{Backoff, Throttle};

/// The shortest pause between two attempts to connect.
pub const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// How long a server may be silent at first. If that was too short, later attempts wait longer.
pub const USUAL_SILENCE: Duration = Duration::from_secs(2);
/// The pause between two attempts of a set-up.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest set-up. Timers have a maximum.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Makes the connections of a store.
pub trait Connects: Send + Sync {
    /// A connection that is ready for requests.
    type Ready: Send;

    /// The server, as errors and logs name it.
    fn address(&self) -> String;

    /// How long a set-up may take.
    fn connect_timeout(&self) -> Duration;

    /// How many servers one attempt may have to wait for, one after another.
    fn turns(&self) -> u32;

    /// Whether the next attempt may find another server, which a silent one must leave time for.
    fn has_others(&self) -> bool;

    /// Makes one attempt, until `end`. Each answer may take as long as `silence`.
    fn open(
        &self,
        end: Instant,
        silence: Duration,
    ) -> impl Future<Output = Result<Self::Ready, ConnectError>> + Send;

    /// Returns `Ok` if the error is temporary, so that a set-up goes on.
    fn judge(&self, error: ConnectError) -> Result<ConnectError, ConnectError>;

    /// Waits until another server is the one to connect to.
    fn moved(&self) -> impl Future<Output = ()> + Send {
        pending()
    }

    /// The error of an attempt that took too long.
    fn too_late(&self) -> ConnectError {
        ConnectError::too_late(self.connect_timeout())
    }
}

/// A store with one connection.
pub trait Serves: Store + Sized {
    /// What connects it.
    type Connector: Connects;

    /// The pause after a connection that lasted for less.
    const BRIEF: Duration = Duration::ZERO;

    /// What connects it.
    fn connector(&self) -> &Self::Connector;

    /// Uses a new connection from now on. Returns until when its server grants nothing, and the requests that were
    /// submitted earlier and must not be sent on it.
    fn connected(&self, ready: &Ready<Self>) -> (Option<Closed>, VecDeque<Request>);

    /// Serves a connection. Returns `None` once the store is closed and all requests are answered. An error was the
    /// answer to all requests in flight.
    fn serve(
        &self,
        events: &dyn Events,
        ready: Ready<Self>,
    ) -> impl Future<Output = Option<StoreError>> + Send;

    /// Notes why there is no connection yet.
    fn still_disconnected(&self, error: StoreError);

    /// Whether the store is closed, and no request is left.
    fn is_done(&self) -> bool;

    /// A request to be refused, while there is no connection; `None` once the store is closed and no request is left.
    fn poll_refused(&self, cx: &mut Context<'_>) -> Poll<Option<Request>>;

    /// Whether this error shows that all locks are gone.
    fn forgets(&self, _error: &ConnectError) -> bool {
        false
    }

    /// Runs `serve` with these events or others, and what else the store needs beside it.
    fn run(self: Arc<Self>, events: Arc<dyn Events>, serve: Serving) -> Boxed<'static, ()> {
        serve(events)
    }

    /// Called when the driver is dropped, even at runtime shutdown.
    fn abandon(&self) {
        self.close();
    }
}

/// Keeps a store connected, and serves its connections.
pub type Serving = Box<dyn FnOnce(Arc<dyn Events>) -> Boxed<'static, ()> + Send>;

/// The store, and its driver.
pub fn unconnected<S: Serves>(store: S) -> (Arc<S>, Box<dyn Driver>) {
    let store = Arc::new(store);
    let driver = Reconnector {
        store: store.clone(),
        opened: None,
    };
    (store, Box::new(driver))
}

struct Reconnector<S: Serves> {
    store: Arc<S>,
    /// The connection of the set-up, and until when its server grants nothing.
    opened: Option<(Ready<S>, Option<Closed>)>,
}

type Ready<S> = <<S as Serves>::Connector as Connects>::Ready;

impl<S: Serves> Driver for Reconnector<S> {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(async move {
            let ready = set_up(self.store.connector(), limit).await?;
            let (closed, _) = self.store.connected(&ready);
            self.opened = Some((ready, closed));
            Ok(())
        })
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        if self.opened.is_none() {
            events.node_changed(Node::ONLY, NodeChange::Disconnected(not_yet()));
        }
        let store = self.store.clone();
        store.run(events, Box::new(|events| Box::pin(self.serve(events))))
    }
}

impl<S: Serves> Drop for Reconnector<S> {
    fn drop(&mut self) {
        self.store.abandon();
    }
}

/// Connects within `limit`, for a set-up.
pub async fn set_up<C: Connects>(connector: &C, limit: Duration) -> Result<C::Ready, SetupError> {
    let end = Instant::now() + limit.min(LONGEST);
    let mut passing = None;
    let opened = timeout_at(end, async {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let silence = match connector.has_others() {
                true => USUAL_SILENCE.min(left),
                false => left,
            };
            // At the deadline, the attempt still returns its own error, because inner futures are polled first.
            let error = match Box::pin(connector.open(end, silence)).await {
                Ok(ready) => return Ok(ready),
                Err(error) => error,
            };
            // The deadline may have cut this attempt short. The error of the previous attempt is then more precise.
            if let Some(known) = passing.take_if(|_| Instant::now() >= end) {
                return Err(known);
            }
            passing = Some(connector.judge(error)?);
            sleep(PAUSE).await;
        }
    });
    let opened = opened.await;
    let opened = opened.unwrap_or_else(|_| Err(passing.unwrap_or_else(|| connector.too_late())));
    opened.map_err(|error| error.at(&connector.address()))
}

impl<S: Serves> Reconnector<S> {
    async fn serve(mut self: Box<Self>, events: Arc<dyn Events>) {
        let (store, events) = (&*self.store, &*events);
        let connector = store.connector();
        let mut lost = not_yet();
        let mut opened = self.opened.take();
        let mut was_connected = opened.is_some();
        loop {
            let again = opened.is_none();
            let (ready, closed) = match opened.take() {
                Some(opened) => opened,
                None => {
                    let connecting = reconnect(store, events, was_connected);
                    let Some(ready) = unless_done(store, events, &lost, connecting).await else {
                        return;
                    };
                    let (closed, earlier) = store.connected(&ready);
                    for request in earlier {
                        events.answered(request.failed(lost.clone()));
                    }
                    let address = connector.address();
                    tell(move || match was_connected {
                        true => tracing::info!(target: STORE, address, "the lock store is back"),
                        false => {
                            tracing::info!(target: STORE, address, "the lock store is connected")
                        }
                    });
                    (ready, closed)
                }
            };
            was_connected = true;
            events.node_changed(Node::ONLY, NodeChange::Closed(closed));
            events.node_changed(Node::ONLY, NodeChange::Connected { again });
            let begun = Instant::now();
            match store.serve(events, ready).await {
                Some(error) if !store.is_done() => lost = error,
                _ => return,
            }
            let (address, why) = (connector.address(), lost.clone());
            tell(move || {
                tracing::warn!(target: STORE, address, error = %why, "the lock store is lost; reconnecting");
            });
            events.node_changed(Node::ONLY, NodeChange::Disconnected(lost.clone()));
            if begun.elapsed() < S::BRIEF {
                let pause = unless_done(store, events, &lost, sleep(S::BRIEF));
                if pause.await.is_none() {
                    return;
                }
            }
        }
    }
}

async fn reconnect<S: Serves>(store: &S, events: &dyn Events, was_connected: bool) -> Ready<S> {
    let connector = store.connector();
    let mut backoff = Backoff::new(FIRST_PAUSE, USUAL_SILENCE);
    let mut warnings = Throttle::default();
    loop {
        let attempting = async {
            match attempt(connector, backoff.silence()).await {
                Ok(ready) => return Some(ready),
                Err(error) => {
                    backoff.failed(error.trouble());
                    let passes = was_connected && !error.needs_a_person();
                    if was_connected && store.forgets(&error) {
                        events.node_changed(Node::ONLY, NodeChange::Forgotten);
                    }
                    let error = error.at(&connector.address());
                    let text = warnings.failed(&error, passes);
                    let error = StoreError::disconnected(text);
                    store.still_disconnected(error.clone());
                    events.node_changed(Node::ONLY, NodeChange::StillDisconnected(error));
                }
            }
            sleep(backoff.pause()).await;
            None
        };
        let moved = async {
            connector.moved().await;
            None
        };
        if let Some(ready) = first(attempting, moved).await {
            return ready;
        }
    }
}

async fn attempt<C: Connects>(connector: &C, silence: Duration) -> Result<C::Ready, ConnectError> {
    // A server that is given more time for each reply also needs more for all replies together.
    let whole = silence * connector.turns();
    let whole = connector.connect_timeout().max(whole).min(LONGEST);
    let end = Instant::now() + whole;
    // On the heap, because the driver's future lives as long as the store and should not reserve space for this one.
    let opening = Box::pin(connector.open(end, silence.min(whole)));
    let opened = timeout_at(end, opening).await;
    opened.unwrap_or_else(|_| Err(connector.too_late()))
}

/// Refuses requests with `error` until `work` is done. Returns `None` if the store is closed before that.
async fn unless_done<T>(
    store: &impl Serves,
    events: &dyn Events,
    error: &StoreError,
    work: impl Future<Output = T>,
) -> Option<T> {
    let refusing = async {
        while let Some(request) = poll_fn(|cx| store.poll_refused(cx)).await {
            events.answered(request.failed(error.clone()));
        }
        None
    };
    first(refusing, async { Some(work.await) }).await
}
