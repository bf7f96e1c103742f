//! [`CredentialsProvider`], and the same behind a pointer.

use std::error::Error;
use std::fmt;
use std::future::{Future, pending};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;

use super::{Credentials, ServerAddress};

/// Gives out credentials, for [`Config::credentials`](crate::Config::credentials).
///
/// A function is one, if it takes a [`ServerAddress`] and returns a future:
///
/// ```no_run
/// use auto_mutex::{Config, Credentials, ServerAddress, ServerKind};
///
/// async fn token() -> std::io::Result<String> {
///     std::fs::read_to_string("/run/secrets/redis")
/// }
///
/// fn main() -> Result<(), auto_mutex::SetupError> {
///     let provider = |server: ServerAddress| async move {
///         Ok(match server.kind() {
///             ServerKind::Sentinel => Credentials::password("of the sentinels"),
///             _ => Credentials::new("locks", token().await?).valid_for("15m"),
///         })
///     };
///     auto_mutex::setup(Config::new("redis://10.0.0.1")?.credentials(provider))
/// }
/// ```
///
/// A type implements it with an `async fn`, or with a function that returns a boxed future:
///
/// ```
/// use std::error::Error;
/// use std::sync::Mutex;
///
/// use auto_mutex::{Credentials, CredentialsProvider, ServerAddress};
/// use tokio::sync::Notify;
///
/// /// A password that somebody else changes.
/// struct Shared {
///     password: Mutex<String>,
///     /// Gets `notify_waiters` after each change.
///     changed: Notify,
/// }
///
/// impl CredentialsProvider for Shared {
///     async fn credentials(
///         &self,
///         _: &ServerAddress,
///     ) -> Result<Credentials, Box<dyn Error + Send + Sync>> {
///         Ok(Credentials::new("locks", self.password.lock().unwrap().clone()))
///     }
///
///     async fn changed(&self) {
///         self.changed.notified().await;
///     }
/// }
/// ```
///
/// # Where it runs
///
/// On a thread of the client's own (`auto-mutex-login`), on a tokio runtime with timers and sockets, so a client of AWS or
/// Azure works in it, and outlives the runtime of the program. It may take as long as `connect_timeout`. It may block or
/// panic: then this attempt fails, and no lock is affected as long as the connection lasts.
///
/// It must not wait for the thread that calls `setup` or `Client::connect`, which block. So what it needs must not run on a
/// runtime with one thread that calls them.
///
/// # When it is asked
///
/// For each connection (after a loss, too), so there may be many in a short time: for servers, sentinels, nodes of a
/// cluster (also to learn the slot map), members of a quorum. Nothing is kept here. If asking is expensive, keep the
/// credentials, which are `Clone`, in the provider.
///
/// It is asked again for a living connection when 70 to 80 % of the time of its credentials is over (connections vary, so
/// that they do not all ask at once), or when [`changed`](Self::changed) completes. The new credentials are sent on that connection (`AUTH`), among the requests:
/// nothing is interrupted.
pub trait CredentialsProvider: Send + Sync + 'static {
    /// The credentials for a connection to `server`.
    ///
    /// # Errors
    ///
    /// Any. Its text, with those of its sources, becomes a part of errors and of the log: it must not have a secret.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the connection is not wanted any more, or when it takes too long.
    fn credentials(
        &self,
        server: &ServerAddress,
    ) -> impl Future<Output = Result<Credentials, Box<dyn Error + Send + Sync>>> + Send;

    /// Completes when the credentials that were given out should be replaced before they expire. Never, by default.
    ///
    /// It is called, and polled once, before [`credentials`](Self::credentials), for each connection; so it misses no
    /// change that comes after. Connections then ask again, at most once a second.
    fn changed(&self) -> impl Future<Output = ()> + Send {
        pending()
    }
}

impl<F, A> CredentialsProvider for F
where
    F: Fn(ServerAddress) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Credentials, Box<dyn Error + Send + Sync>>> + Send,
{
    fn credentials(&self, server: &ServerAddress) -> impl Future<Output = A::Output> + Send {
        self(server.clone())
    }
}

pub(super) type Asking<'a> =
    Pin<Box<dyn Future<Output = Result<Credentials, Box<dyn Error + Send + Sync>>> + Send + 'a>>;
pub(super) type Changing<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A [`CredentialsProvider`] behind a pointer.
pub(super) trait Erased: Send + Sync {
    fn credentials<'a>(&'a self, server: &'a ServerAddress) -> Asking<'a>;
    fn changed(&self) -> Changing<'_>;
}

impl<P: CredentialsProvider> Erased for P {
    fn credentials<'a>(&'a self, server: &'a ServerAddress) -> Asking<'a> {
        Box::pin(CredentialsProvider::credentials(self, server))
    }

    fn changed(&self) -> Changing<'_> {
        Box::pin(CredentialsProvider::changed(self))
    }
}

/// The provider of a configuration.
#[derive(Clone)]
pub(crate) struct Given(pub(super) Arc<dyn Erased>);

impl Given {
    pub(crate) fn new(provider: impl CredentialsProvider) -> Self {
        Self(Arc::new(provider))
    }
}

// A panic of the provider is caught where it runs.
impl UnwindSafe for Given {}
impl RefUnwindSafe for Given {}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialsProvider")
    }
}
