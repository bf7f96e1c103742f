//! [`StoreError`]: why a store is unavailable. Its kind is private.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

/// Why the store did not answer, or why it refused.
///
/// The `source` of `LockError::Unavailable` and of some
/// `SetupError`s. Its text says what to do, and never shows a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreError {
    kind: StoreErrorKind,
    /// The length of the server's code, with which the message begins; 0 if the error did not come from the server.
    code_len: u8,
    message: Arc<str>,
}

/// The kind of failure, which decides what callers do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// There is no connection, or it broke. The request may or may not have run.
    Disconnected,
    /// The server is busy, or can't serve for now (BUSY, OOM, MISCONF…): calls wait, as in an outage.
    Busy,
    /// The server was restarted or failed over, and grants nothing until a known time.
    NotGrantingYet,
    /// The answer came after the lease that it granted had ended.
    TooLate,
    /// The server refuses, for a reason that this library does not know.
    Refused,
    /// The credentials are wrong, or a right is missing.
    Forbidden,
    /// The key of the name holds data from another program or protocol version.
    Foreign,
    /// The reply does not follow the protocol.
    Protocol,
    /// This kind of store does not support the operation.
    Unsupported,
    /// Too few replicas have the grant.
    Unreplicated {
        /// How many replicas must have it.
        wanted: u32,
        /// How many have it.
        reached: u32,
    },
}

/// How much of a server's words is kept, in characters.
const MOST: usize = 2000;

/// The text without what a terminal would obey. A hostile server may send anything, and any amount of it.
fn printable(text: Arc<str>) -> Arc<str> {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.len() <= MOST && !text.contains(is_unsafe) {
        return text;
    }
    let mut printable = String::new();
    for c in text.chars().take(MOST) {
        match is_unsafe(c) {
            true => printable.extend(c.escape_default()),
            false => printable.push(c),
        }
    }
    if text.chars().nth(MOST).is_some() {
        printable.push('…');
    }
    printable.into()
}

impl StoreError {
    #[doc(hidden)]
    pub fn new(kind: StoreErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            code_len: 0,
            message: printable(message.into()),
        }
    }

    #[doc(hidden)]
    pub fn of_server(kind: StoreErrorKind, code: &str, rest: &str) -> Self {
        // Anything else in its place is only text.
        let is_word = code.len() <= 32 && code.bytes().all(|byte| byte.is_ascii_graphic());
        Self {
            kind,
            code_len: if is_word { code.len() as u8 } else { 0 },
            message: printable(format!("{code} {rest}").into()),
        }
    }

    #[doc(hidden)]
    pub fn as_kind(&self, kind: StoreErrorKind) -> Self {
        Self {
            kind,
            ..self.clone()
        }
    }

    #[doc(hidden)]
    pub fn details(&self) -> &str {
        let rest = self.message.get(usize::from(self.code_len)..);
        rest.unwrap_or_default().trim_start()
    }

    #[doc(hidden)]
    pub fn disconnected(message: impl Into<Arc<str>>) -> Self {
        Self::new(StoreErrorKind::Disconnected, message)
    }

    #[doc(hidden)]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// The code of the server's error, such as `OOM` or `NOREPLICAS`; `None` if the error did not come from the server.
    ///
    /// ```
    /// # fn told(error: &auto_mutex_protocol::StoreError) -> bool {
    /// error.code() == Some("OOM")
    /// # }
    /// ```
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        let code = self.message.get(..usize::from(self.code_len))?;
        (!code.is_empty()).then_some(code)
    }

    /// Whether there is no connection, or it broke. The request may or may not have run.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.kind == StoreErrorKind::Disconnected
    }

    /// Whether the server refuses what it could do at another time.
    #[doc(hidden)]
    pub fn is_refusal(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Busy | StoreErrorKind::Refused)
    }

    /// Whether trying again later can help.
    #[doc(hidden)]
    pub fn is_transient(&self) -> bool {
        // An unknown refusal is transient, because the server may serve later.
        !matches!(
            self.kind,
            StoreErrorKind::Forbidden
                | StoreErrorKind::Foreign
                | StoreErrorKind::Protocol
                | StoreErrorKind::Unsupported
        )
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for StoreError {}

/// The error that a server answers with in such a case.
#[cfg(any(test, feature = "test-util"))]
impl From<StoreErrorKind> for StoreError {
    fn from(kind: StoreErrorKind) -> Self {
        let (code, text) = match kind {
            StoreErrorKind::Disconnected => return Self::disconnected("the connection broke"),
            StoreErrorKind::Busy => ("OOM", "used memory > 'maxmemory'"),
            StoreErrorKind::NotGrantingYet => ("", "the server grants nothing yet"),
            StoreErrorKind::TooLate => ("", "the answer came too late"),
            StoreErrorKind::Refused => ("ERR", "the server refuses"),
            StoreErrorKind::Forbidden => ("NOPERM", "this user has no permissions"),
            StoreErrorKind::Foreign => ("", "the key holds other data"),
            StoreErrorKind::Protocol => ("", "the reply does not follow the protocol"),
            StoreErrorKind::Unsupported => ("", "this operation"),
            StoreErrorKind::Unreplicated { .. } => ("", "too few replicas"),
        };
        match code {
            "" => Self::new(kind, text),
            code => Self::of_server(kind, code, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_words_are_cut_and_escaped() {
        let refused =
            |code: &str, text: &str| StoreError::of_server(StoreErrorKind::Refused, code, text);
        let error = refused("OOM", "\u{1b}[2Jgone\u{202e}\r\n");
        assert_eq!(error.code(), Some("OOM"));
        assert_eq!(error.to_string(), "OOM \\u{1b}[2Jgone\\u{202e}\\r\\n");
        let error = refused("ERR", &"ü".repeat(1 << 20));
        assert_eq!(error.to_string().chars().count(), MOST + 1);
        let error = refused("\u{7}\u{7}", "x");
        assert_eq!(
            (error.code(), error.to_string()),
            (None, "\\u{7}\\u{7} x".to_owned())
        );
        assert_eq!(refused(&"C".repeat(70_000), "x").code(), None);
    }
}
