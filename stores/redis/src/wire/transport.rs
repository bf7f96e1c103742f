//! [`Transport`]: how a connection is made.

use std::path::PathBuf;

use auto_mutex_core::store::Dialer;

/// How a connection is made, without its login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transport {
    /// `None`: plain TCP.
    pub(crate) tls: Option<Tls>,
    /// `None`: the library connects by itself.
    pub(crate) dialer: Option<Dialer>,
}

/// The certificates that the client trusts, and the certificate that it presents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The file of trusted certificates; `None`: the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The files of the client certificate and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate must have; `None`: the host of the address.
    pub(crate) server_name: Option<String>,
}
