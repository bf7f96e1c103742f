//! Where a server listens ([`Address`]), and how to get there and in: [`Dialer`], [`Secret`].

mod dialer;
mod secret;

use std::fmt;
use std::path::PathBuf;

pub use self::dialer::{DialedStream, Dialer};
pub use self::secret::Secret;

/// The address of a server. Its Display, as errors and logs show it, never contains credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A host, or its address, and a port.
    Tcp {
        /// The host, without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
