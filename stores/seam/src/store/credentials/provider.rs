//! [`CredentialsProvider`]: what a program implements.

use std::error::Error;
use std::future::{Future, pending};

use super::{Credentials, ServerAddress};

/// A provider of credentials, for [`Config::credentials`](crate::Config::credentials).
///
/// A function is a provider if it takes a [`ServerAddress`] and returns a future:
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
/// A type implements this trait with an `async fn`, or with a function that returns a boxed future:
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
/// # Where a provider runs
///
/// A provider runs on a thread of the client (`auto-mutex-login`), in a tokio runtime with timers and sockets, in which
/// the SDKs of AWS and Azure work. This runtime is independent of the program's. The provider may block its thread, and
/// may take as long as `connect_timeout`. If it takes longer, fails or panics, the attempt to get credentials fails.
/// Locks are unaffected while the connection lasts.
///
/// `setup` and `Client::connect` block their thread, so the provider must not wait for that thread. On a
/// single-threaded runtime, it must not need tasks of that runtime.
///
/// # When a provider is asked
///
/// The client asks the provider for each connection to a server, sentinel, cluster node or quorum member, and again
/// after each reconnect. There may be many calls in a short time, and the client caches nothing. If a call is
/// expensive, cache the credentials (they are `Clone`) in the provider.
///
/// For an open connection, the client asks again after 70 to 80 % of the credentials' validity, at random so that
/// connections do not ask all at once, and when [`changed`](Self::changed) completes. It sends the new credentials
/// (`AUTH`) on that connection between requests, and interrupts none of them.
pub trait CredentialsProvider: Send + Sync + 'static {
    /// Returns the credentials for a connection to `server`.
    ///
    /// # Errors
    ///
    /// Any error. Its text, and those of its sources, appear in errors and logs, and must not contain a secret.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the connection is no longer needed, or when the call takes too long.
    fn credentials(
        &self,
        server: &ServerAddress,
    ) -> impl Future<Output = Result<Credentials, Box<dyn Error + Send + Sync>>> + Send;

    /// Completes when the returned credentials should be replaced before they expire. By default, it never completes.
    ///
    /// For each connection, the client calls this function and polls its future once before
    /// [`credentials`](Self::credentials), so that it misses no change. When the future completes, the connection asks
    /// for new credentials, at most once a second.
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
