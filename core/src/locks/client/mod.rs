//! [`Client`]: a connected store with default options. Also the global client, and the client of a scope.

mod drain;
mod global;
mod health;
mod order;

use std::future::Future;
use std::sync::Arc;

pub use drain::Drained;
pub use global::{blocking_drain, drain, drain_until};
pub use global::{blocking_ping, health, is_connected, ping};
pub use global::{blocking_shutdown, client, setup, setup_async, shutdown};
pub use health::{Health, LastError};
pub use order::{assert_lock_order, lock_order};

use crate::background;
use crate::background::exit;
use crate::base::error::{LockError, SetupError};
use crate::base::name::Name;
use crate::base::wait::{block_on, on_thread};
use crate::caller;
use crate::config::{Config, Settings};
use crate::observe::{self, STORE};
use crate::queue::{ClientCore, OpenClient};
use crate::site;
use crate::store::guarantees::Guarantees;
use crate::store::{Op, TOKENS_OF_A_GRANT};

/// A connection to one store, with the default options of its locks.
///
/// Cheap to clone; all clones are the same client. Most programs have one, made by [`setup`]. Make more for other
/// stores or for tests. A client works with any runtime and without one, because its own background thread talks to the
/// store. The thread ends when the last clone and the last guard are dropped.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use auto_mutex::Client;
///
/// let client = Client::connect("memory://")?;
/// let guard = client.mutex("reports").blocking_lock()?;
/// assert!(client.mutex("reports").blocking_is_locked()?);
/// drop(guard);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    open: Arc<OpenClient>,
}

impl Client {
    /// Connects to a store, given as a URL or a [`Config`].
    ///
    /// Blocks until the store is connected and checked, for up to `connect_timeout`. With [`Config::connect_lazily`],
    /// it does not block. Works with and without a runtime. Logs a warning (by `tracing`) for each
    /// [`Weakness`](crate::Weakness) that it finds. For `memory://`, of which tests make many clients, it logs a single
    /// line per process at level INFO.
    ///
    /// # Errors
    ///
    /// A [`SetupError`] that says what is wrong with the URL, the options, the credentials or the server.
    pub fn connect<C>(config: C) -> Result<Self, SetupError>
    where
        C: TryInto<Config>,
        SetupError: From<C::Error>,
    {
        Self::with(config.try_into()?.validate()?)
    }

    pub(crate) fn with(settings: Settings) -> Result<Self, SetupError> {
        background::start(settings)?
            .blocking_wait()
            .map(Self::started)
    }

    /// Like [`connect`](Self::connect), but does not block the thread, for programs that are async from the start.
    ///
    /// `setup` and `Client::connect` block without saying so in their names, because most programs call them before
    /// there is a runtime. Their async versions have the suffix `_async`. All other blocking functions have the prefix
    /// `blocking_`.
    ///
    /// # Errors
    ///
    /// Those of [`connect`](Self::connect).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the connection is closed, and its thread ends.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let client = auto_mutex::Client::connect_async("memory://").await?;
    /// drop(client.mutex("reports").lock().await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn connect_async<C>(config: C) -> Result<Self, SetupError>
    where
        C: TryInto<Config>,
        SetupError: From<C::Error>,
    {
        let settings = config.try_into()?.validate()?;
        background::start(settings)?.wait().await.map(Self::started)
    }

    fn started(core: Arc<ClientCore>) -> Self {
        exit::watch(&core);
        if let Some(observer) = core.observer() {
            observe::begin(observer);
        }
        let settings = core.settings();
        // With `connect_lazily`, no guarantee is known yet. The weaknesses are logged once the store is connected.
        if !settings.lazily {
            core.log_weaknesses();
        }
        site::find_duplicates(settings.namespace.as_deref());
        Self {
            open: Arc::new(OpenClient(core)),
        }
    }

    /// The namespace of this client, from its configuration.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.core().settings().namespace.as_deref()
    }

    /// What the servers of this client guarantee for its locks. The client asks each server on connecting, after each
    /// restart and failover, and every ten minutes. With [`Config::connect_lazily`], all guarantees are unknown before
    /// the first connection.
    #[must_use]
    pub fn guarantees(&self) -> Guarantees {
        self.core().guarantees()
    }

    /// Makes `future` use this client, whatever task or thread polls it.
    ///
    /// Tasks spawned by `future` are not included: give each of them the client with
    /// `tokio::spawn(client.scope(task))`. The returned future borrows nothing from the client, and is `Send` if
    /// `future` is. On a thread, use [`blocking_scope`](Self::blocking_scope).
    ///
    /// # Cancel safety
    ///
    /// That of `future`.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use auto_mutex::{Client, Mutex};
    ///
    /// let client = Client::connect("memory://")?;
    /// let locked = client.scope(async { Mutex::new("reports").is_locked().await }).await?;
    /// assert!(!locked);
    ///
    /// let task = tokio::spawn(client.scope(async { Mutex::new("reports").is_locked().await }));
    /// assert!(!task.await??);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        self.scoped(future)
    }

    pub(crate) fn scoped<F>(&self, future: F) -> caller::Scoped<F> {
        caller::scope(self.open.clone(), future)
    }

    /// Makes the running task (outside of tokio tasks, the thread) use this client while `run` runs.
    ///
    /// `run` may drive an executor. Other tokio tasks that it polls keep their own client. Tasks of other executors
    /// have no identity, and use this client unless they have their own [`scope`](Self::scope).
    pub fn blocking_scope<T>(&self, run: impl FnOnce() -> T) -> T {
        caller::blocking_scope(self.open.clone(), run)
    }

    /// Releases all locks of this client and closes the connection. Later calls fail with
    /// [`LockError::ShutDown`](crate::LockError::ShutDown), and remaining guards are lost. To let bodies end first,
    /// call [`drain`](Self::drain) instead.
    ///
    /// Waits for the store's answers for up to `store_timeout`. A lock whose release is not answered becomes free when
    /// its lease ends.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future does not stop the shutdown.
    pub async fn shutdown(&self) {
        let client = self.clone();
        let shutdown = on_thread("auto-mutex-shutdown", move || client.blocking_shutdown());
        if shutdown.await.is_err() {
            self.blocking_shutdown();
        }
    }

    /// Like [`shutdown`](Self::shutdown), but blocks the thread.
    pub fn blocking_shutdown(&self) {
        let store_timeout = self.core().settings().store_timeout();
        if !self.core().shut_down(store_timeout) {
            tracing::warn!(
                target: STORE,
                "the client was shut down before the store had confirmed all releases; the other locks are free when their leases end"
            );
        }
    }
}

/// For the crate `auto-mutex-operator`.
#[doc(hidden)]
impl Client {
    /// Unique in this process.
    pub fn id(&self) -> u64 {
        self.core().id()
    }

    /// What all locks of the client share.
    pub fn core(&self) -> &Arc<ClientCore> {
        &self.open.0
    }

    /// Connects a client that never holds a lock to the store of `settings`.
    pub fn without_holds(settings: &Settings) -> Result<Self, SetupError> {
        Self::with(settings.without_holds())
    }

    /// Breaks the hold of `name` with this fencing token, and returns whether there was one. `by` is recorded as the
    /// one who did it.
    pub fn kick(&self, name: &Name, token: u64, by: &str) -> Result<bool, LockError> {
        let kick = Op::Kick {
            token: token / TOKENS_OF_A_GRANT,
            by: self.core().meta(by),
        };
        let asked = self.core().with_queue(name, |local| local.query(&kick))?;
        Ok(block_on(asked.wait())?.count() > 0)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id())
            .field("namespace", &self.namespace())
            .finish_non_exhaustive()
    }
}
