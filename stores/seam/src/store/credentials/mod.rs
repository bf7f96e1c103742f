//! [`Credentials`] that rotate, and the [`CredentialsProvider`] of a program that returns them.

mod lane;
mod provider;
mod server;
mod source;

use std::fmt;
use std::time::SystemTime;

use tokio::sync::oneshot;

pub use self::provider::CredentialsProvider;
pub use self::server::{ServerAddress, ServerKind};
pub use self::source::Source;
use crate::base::address::Secret;
use crate::base::clock::{self, Instant};
use crate::base::duration::{IntoDuration, length};

/// A user name with a password or a token, and the time until which the server accepts them.
///
/// Its `Debug` output shows neither name nor password.
///
/// ```
/// use auto_mutex::Credentials;
///
/// let credentials = Credentials::new("locks", "a token").valid_for("15m");
/// assert!(!format!("{credentials:?}").contains("token"));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Credentials {
    user: Option<Secret>,
    password: Secret,
    /// `None` if the credentials do not expire, `Err` if the given duration is invalid.
    expires: Result<Option<Instant>, &'static str>,
}

impl Credentials {
    /// A user and a password without a known time of expiry.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            user: Some(Secret::new(user)),
            ..Self::password(password)
        }
    }

    /// A password for the default user, without a known time of expiry.
    pub fn password(password: impl Into<String>) -> Self {
        Self {
            user: None,
            password: Secret::new(password),
            expires: Ok(None),
        }
    }

    /// Sets how long the server accepts these credentials, counted from now. The client asks the provider again after
    /// 70 to 80 % of this time.
    ///
    /// An invalid duration (see [`IntoDuration`]) counts as a failure of the provider.
    pub fn valid_for(mut self, time: impl IntoDuration) -> Self {
        self.expires = length(time).map(|time| Some(clock::now().after(time)));
        self
    }

    /// Sets when the server stops accepting these credentials, by the current clock of this machine: see
    /// [`valid_for`](Self::valid_for).
    pub fn expires_at(mut self, time: SystemTime) -> Self {
        let left = time.duration_since(SystemTime::now()).unwrap_or_default();
        self.expires = Ok(Some(clock::now().after(left)));
        self
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = |expires: Instant| clock::now().until(expires);
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .field("password", &self.password)
            .field("expires_in", &self.expires.ok().flatten().map(left))
            .finish()
    }
}

/// The credentials with which a connection logs in.
#[derive(Debug, Default)]
pub struct Granted {
    /// `None` for the default user.
    pub user: Option<Secret>,
    /// `None` if no AUTH is sent.
    pub password: Option<Secret>,
    /// `None` if the credentials do not expire.
    pub expires: Option<Instant>,
    /// Notified if the provider has new credentials before these expire.
    pub recalled: Option<oneshot::Receiver<()>>,
}

impl Granted {
    fn new(credentials: Credentials, recalled: oneshot::Receiver<()>) -> Result<Self, String> {
        let expires = credentials
            .expires
            .map_err(|reason| format!("`valid_for` of its credentials: {reason}"))?;
        Ok(Self {
            user: credentials.user,
            password: Some(credentials.password),
            expires,
            recalled: Some(recalled),
        })
    }
}
