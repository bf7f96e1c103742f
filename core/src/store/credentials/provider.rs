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
/// A provider runs on a thread of the client (`auto-mutex-login`), in a tokio runtime with timers and sockets. So a
/// client of AWS or Azure works in it. This runtime does not end with the runtime of the program. The provider may take
/// as long as `connect_timeout`, and may block its thread. If the provider takes longer, fails or panics, the attempt to
/// get credentials fails. The failure affects no lock as long as the connection lasts.
///
/// `setup` and `Client::connect` block their thread, so the provider must not wait for that thread. If they are called
/// on a runtime with one thread, the provider must not need tasks of that runtime.
///
/// # When a provider is asked
///
/// The client asks the provider for each connection, also after a connection was lost, so there may be many calls in a
/// short time. These connections lead to servers, sentinels, nodes of a cluster, and members of a quorum. The client
/// does not cache credentials. If a call is expensive, cache the credentials, which are `Clone`, in the provider.
///
/// For an open connection, the client asks again when 70 to 80 % of the validity of its credentials is over. The
/// fraction varies, so that the connections do not all ask at once. The client also asks again when
/// [`changed`](Self::changed) completes. It sends the new credentials on that connection (`AUTH`), among the requests,
/// so no request is interrupted.
pub trait CredentialsProvider: Send + Sync + 'static {
    /// The credentials for a connection to `server`.
    ///
    /// # Errors
    ///
    /// Any error. Its text and those of its sources become a part of errors and of the log, so they must not contain a
    /// secret.
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
    /// [`credentials`](Self::credentials). So the client misses no later change. When the future completes, the connection
    /// asks for new credentials, at most once a second.
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
