//! The global client, made once by [`setup`].

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use once_cell::race::OnceBox;

use super::{Client, Drained, Health};
use crate::base::duration::IntoDuration;
use crate::base::error::{LockError, SetupError};
use crate::base::process::PerProcess;
use crate::caller::Caller;
use crate::config::Config;

static GLOBAL: PerProcess<OnceBox<Client>> = PerProcess::new(OnceBox::new);

/// Connects the global client to a store, given as a URL or a [`Config`]. Call it once, at the top of `main`.
///
/// [`Config`] lists the URLs: `redis://host` and, with features, Redis Cluster, several servers, and PostgreSQL
/// (`postgres://user@host/database`), in which the first client makes the schema `auto_mutex`.
///
/// Works with and without a runtime. Blocks until the store is connected and checked, for up to `connect_timeout`. With
/// [`Config::connect_lazily`], it does not block.
///
/// A forked child cannot use its parent's client: calls fail with [`LockError::Forked`] until the child calls `setup`
/// itself. A program that forks worker processes has to call `setup` in each of them. It should fork before it has
/// clients, or at least not while it makes or drops one: while a thread starts or ends, the standard library has its
/// list of threads locked, and a child forked at that moment hangs as soon as it starts a thread.
///
/// # Errors
///
/// A [`SetupError`] with the cause. After [`SetupError::AlreadySetUp`], the existing global client stays in force; of
/// two concurrent calls, one gets this error, possibly after it has connected. After any other error, `setup` may be
/// called again.
///
/// ```no_run
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     auto_mutex::setup("redis://127.0.0.1:6379")?;
///     // …
///     Ok(())
/// }
/// ```
pub fn setup<C>(config: C) -> Result<(), SetupError>
where
    C: TryInto<Config>,
    SetupError: From<C::Error>,
{
    // With no mutex locked, because subscribers and the conversion of `config` may run any code.
    check_none()?;
    install(Client::connect(config)?)
}

fn check_none() -> Result<(), SetupError> {
    global().map_or(Ok(()), |_| Err(SetupError::AlreadySetUp))
}

fn install(client: Client) -> Result<(), SetupError> {
    let installed = GLOBAL.get().set(Box::new(client));
    installed.map_err(|_| SetupError::AlreadySetUp)
}

#[inline]
pub(crate) fn global() -> Option<&'static Client> {
    GLOBAL.get().get()
}

/// Like [`setup`], but does not block the thread, for programs that are async from the start. [`Client::connect_async`]
/// explains the suffix.
///
/// # Errors
///
/// Those of [`setup`].
///
/// # Cancel safety
///
/// If the future is dropped, the connection is closed, and there is no global client.
///
/// ```no_run
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// auto_mutex::setup_async("redis://127.0.0.1:6379").await?;
/// # Ok(()) }
/// ```
pub async fn setup_async<C>(config: C) -> Result<(), SetupError>
where
    C: TryInto<Config>,
    SetupError: From<C::Error>,
{
    check_none()?;
    install(Client::connect_async(config).await?)
}

/// The client in force here: that of the innermost [`Client::scope`] or, without a scope, the global one.
///
/// # Errors
///
/// [`LockError::NotSetUp`] if there is neither a scope nor a global client.
pub fn client() -> Result<Client, LockError> {
    Client::in_force(&Caller::current(false)).map(Cow::into_owned)
}

impl Client {
    /// Like [`client`], without cloning the global one.
    #[inline]
    pub(crate) fn in_force(caller: &Caller) -> Result<Cow<'static, Self>, LockError> {
        if let Some(open) = &caller.scope {
            return Ok(Cow::Owned(Self { open: open.clone() }));
        }
        // A forked child without its own client gets its parent's, whose calls fail with `Forked`.
        let client = global().or_else(|| GLOBAL.inherited().find_map(OnceBox::get));
        client.map(Cow::Borrowed).ok_or(LockError::NotSetUp)
    }
}

/// Shuts the global client down, if there is one: see [`Client::shutdown`]. After that, [`setup`] cannot make another
/// global client.
///
/// # Cancel safety
///
/// Dropping the future does not stop the shutdown.
pub async fn shutdown() {
    if let Some(client) = global() {
        client.shutdown().await;
    }
}

/// Like [`shutdown`], but blocks the thread.
pub fn blocking_shutdown() {
    if let Some(client) = global() {
        client.blocking_shutdown();
    }
}

/// Drains the global client, if there is one, and shuts it down: see [`Client::drain`].
///
/// # Errors
///
/// Those of [`Client::drain`].
///
/// # Cancel safety
///
/// If the future is dropped, the client still drains.
pub async fn drain(limit: impl IntoDuration) -> Result<Drained, LockError> {
    match global() {
        Some(client) => client.drain(limit).await,
        None => Ok(Drained::nothing()),
    }
}

/// Drains as [`drain`] does, until the future `end` completes: see [`Client::drain_until`].
///
/// # Cancel safety
///
/// Dropping the future also ends the drain.
pub async fn drain_until(end: impl Future<Output = ()>) -> Drained {
    match global() {
        Some(client) => client.drain_until(end).await,
        None => Drained::nothing(),
    }
}

/// Like [`drain`], but blocks the thread.
///
/// # Errors
///
/// Those of [`Client::drain`].
pub fn blocking_drain(limit: impl IntoDuration) -> Result<Drained, LockError> {
    match global() {
        Some(client) => client.blocking_drain(limit),
        None => Ok(Drained::nothing()),
    }
}

/// The state of the client in force here: see [`Client::health`].
///
/// # Errors
///
/// [`LockError::NotSetUp`] if there is no client.
pub fn health() -> Result<Health, LockError> {
    client().map(|client| client.health())
}

/// Whether there is a client in force here and its store is connected: see [`Client::is_connected`].
#[must_use]
pub fn is_connected() -> bool {
    client().is_ok_and(|client| client.is_connected())
}

/// Pings the store of the client in force here, and returns the round-trip time: see [`Client::ping`].
///
/// # Errors
///
/// Those of [`Client::ping`], and [`LockError::NotSetUp`] if there is no client.
///
/// # Cancel safety
///
/// Dropping the future has no effect on any lock.
pub async fn ping() -> Result<Duration, LockError> {
    let client = client()?;
    client.ping().await
}

/// Like [`ping`], but blocks the thread. The errors are the same.
pub fn blocking_ping() -> Result<Duration, LockError> {
    client()?.blocking_ping()
}
