//! [`StoreError`]: the cause behind an unavailable store. The types of the Redis client stay inside.

use std::fmt;
use std::sync::Arc;

/// Why the store did not answer, or refused to.
///
/// Found as the `source` of [`LockError::Unavailable`](crate::LockError::Unavailable) and of some
/// [`SetupError`](crate::SetupError)s. Its text says what to do and never shows a secret.
#[derive(Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    /// Length of the server's code, with which the message then begins; 0: it is not the server's word.
    code: u8,
    message: Arc<str>,
}

/// What kind of failure it is; decides what the callers do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreErrorKind {
    /// No connection, or it broke: the request may or may not have run.
    Disconnected,
    /// The server is there but busy; that passes by itself (BUSY, TRYAGAIN…).
    Busy,
    /// The server was restarted or failed over and grants nothing yet; that passes at a known time.
    Closed,
    /// The server is there and refuses (OOM, MISCONF…).
    Refused,
    /// Wrong credentials, or a right is missing.
    Forbidden,
    /// The state under the name is not ours.
    Foreign,
    /// The reply makes no sense.
    Protocol,
    /// This kind of store cannot do it at all.
    Unsupported,
    /// Too few replicas have a grant.
    Unreplicated { wanted: u32, reached: u32 },
}

impl StoreError {
    pub(crate) fn new(kind: StoreErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            code: 0,
            message: message.into(),
        }
    }

    /// What a server said: a code, and the rest.
    pub(crate) fn of_server(kind: StoreErrorKind, code: &str, rest: &str) -> Self {
        Self {
            kind,
            code: u8::try_from(code.len()).unwrap_or(0),
            message: format!("{code} {rest}").into(),
        }
    }

    /// The same words of another kind.
    pub(crate) fn as_kind(&self, kind: StoreErrorKind) -> Self {
        Self {
            kind,
            ..self.clone()
        }
    }

    /// What a server said behind the code.
    pub(crate) fn details(&self) -> &str {
        let rest = self.message.get(usize::from(self.code)..);
        rest.unwrap_or_default().trim_start()
    }

    pub(crate) fn disconnected(message: impl Into<Arc<str>>) -> Self {
        Self::new(StoreErrorKind::Disconnected, message)
    }

    pub(crate) fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// The code of the server's error, such as `OOM` or `NOREPLICAS`; `None` where the server has said nothing.
    ///
    /// ```
    /// # fn told(error: &auto_mutex::StoreError) -> bool {
    /// error.code() == Some("OOM")
    /// # }
    /// ```
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        let code = self.message.get(..usize::from(self.code))?;
        (!code.is_empty()).then_some(code)
    }

    /// Whether the connection is the trouble: the request may or may not have run.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.kind == StoreErrorKind::Disconnected
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreError")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .finish()
    }
}

impl std::error::Error for StoreError {}
