//! Sockets, for engines that connect to servers: TCP, socket files, and what TLS needs.

mod dial;
mod local;
#[cfg(feature = "tls-no-provider")]
mod tls;

pub use self::dial::dial;
pub use self::local::local;
#[cfg(feature = "tls-no-provider")]
pub use self::tls::*;
use std::path::PathBuf;

/// The files of TLS, and the name that the server must have.
#[allow(
    unpredictable_function_pointer_comparisons,
    reason = "only different modes differ"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The trusted authorities; `None` for those of the system.
    pub ca: Option<PathBuf>,
    /// The client's certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name required in the server's certificate; `None` for the host in the address.
    pub server_name: Option<String>,
    /// Checks the server's certificate in place of the usual verifier.
    #[cfg(feature = "tls-no-provider")]
    pub verifier: Option<Verifier>,
}
