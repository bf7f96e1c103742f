//! The global client, made once by [`setup`].

use std::borrow::Cow;

use once_cell::sync::OnceCell;

use super::{Client, scope};
use crate::config::Config;
use crate::error::{LockError, SetupError};
use crate::sync::Mutex;
use crate::wait::lock;

static GLOBAL: OnceCell<Client> = OnceCell::new();
/// Held during set-up, so that of two simultaneous calls of `setup` the second does not connect in vain.
static SETTING_UP: Mutex<()> = Mutex::new(());

/// Connects the global client: a URL or a [`Config`]. Call it once, at the top of `main`.
///
/// Works with and without a runtime. Blocks until the store is connected and checked, for `connect_timeout` at most.
///
/// # Errors
///
/// A [`SetupError`] that says what is wrong; [`SetupError::AlreadySetUp`] if there is a global client already, which
/// then stays in force. After any other error, `setup` may be called again.
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
    let _one_at_a_time = lock(&SETTING_UP);
    if GLOBAL.get().is_some() {
        return Err(SetupError::AlreadySetUp);
    }
    let client = Client::connect(config)?;
    GLOBAL.set(client).map_err(|_| SetupError::AlreadySetUp)
}

/// The client in force here: that of the innermost [`Client::scope`], or else the global one.
///
/// # Errors
///
/// [`LockError::NotSetUp`] if there is neither a scope nor a global client.
pub fn client() -> Result<Client, LockError> {
    in_force().map(Cow::into_owned)
}

/// Like [`client`], without cloning the global one.
#[inline]
pub(super) fn in_force() -> Result<Cow<'static, Client>, LockError> {
    let current = scope::current().map(Cow::Owned);
    let current = current.or_else(|| GLOBAL.get().map(Cow::Borrowed));
    current.ok_or(LockError::NotSetUp)
}

/// Shuts the global client down, if there is one: see [`Client::shutdown`]. After that, [`setup`] cannot make another
/// global client.
///
/// # Cancel safety
///
/// Dropping the future does not stop the shutdown.
pub async fn shutdown() {
    if let Some(client) = GLOBAL.get() {
        client.shutdown().await;
    }
}

/// Like [`shutdown`], but blocks the thread.
pub fn blocking_shutdown() {
    if let Some(client) = GLOBAL.get() {
        client.blocking_shutdown();
    }
}
