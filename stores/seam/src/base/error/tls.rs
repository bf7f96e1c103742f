//! [`TlsError`]: why TLS with a server fails.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a TLS connection fails or is required. Every text says what to change, and none shows the content of a file.
///
/// Found as the `source` of [`SetupError::Tls`](crate::SetupError::Tls).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file given in the URL cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The system has no trusted certificates.
    #[error(
        "this system has no trusted CA certificates: install them (Debian: ca-certificates), or set `ca` in the URL to a \
         file that has them"
    )]
    NoSystemRoots,

    /// The crate was built with the feature `tls-no-provider`, which contains no cryptography, and the program has
    /// installed no provider.
    #[error(
        "rustls has no crypto provider: call `install_default` of a `rustls::crypto::CryptoProvider` before \
         the client connects, or use the feature `tls` of the crate `auto-mutex` instead of `tls-no-provider`"
    )]
    NoProvider,

    /// The name that the server's certificate must have is invalid.
    #[error(
        "`{name}` is not a valid name in a certificate: set `server_name` in the URL to the certificate's name"
    )]
    InvalidName {
        /// The `server_name` of the URL, or its host.
        name: String,
    },

    /// The server's certificate is not signed by a trusted authority.
    #[error(
        "the server's certificate is not signed by a trusted authority: set `ca` in the URL to the file with the \
         authority's certificate"
    )]
    UnknownIssuer,

    /// The server's certificate is for another name.
    #[error(
        "the server's certificate is for another name ({}): connect with one of its names, or set \
         `server_name` in the URL to one",
        listed(names)
    )]
    WrongName {
        /// The names in the certificate, as far as known.
        names: Vec<String>,
    },

    /// The server's certificate has expired.
    #[error(
        "the server's certificate has expired: renew it on the server, or correct the clock of this machine"
    )]
    Expired,

    /// The server's certificate is not valid yet.
    #[error(
        "the server's certificate is not valid yet: correct the clock of this machine (or the certificate)"
    )]
    NotYetValid,

    /// The server's certificate is invalid for another reason.
    #[error("the server's certificate cannot be used: {reason}")]
    BadCertificate {
        /// What is wrong with it.
        reason: String,
    },

    /// The server asks for a client certificate.
    #[error(
        "the server asks for a client certificate: set `cert` and `key` in the URL to its files"
    )]
    ClientCertificateRequired,

    /// The server refuses the client certificate.
    #[error(
        "the server refuses the client's certificate ({reason}): set `cert` and `key` in the URL to a valid \
         certificate that its authority has signed"
    )]
    ClientCertificateRefused {
        /// The server's reason.
        reason: String,
    },

    /// The server's answer is not TLS.
    #[error(
        "the server's answer is not TLS: does this port speak TLS? Use its `tls-port`, or write `redis://`"
    )]
    NotTls,

    /// The server did not answer the handshake.
    #[error(
        "the server does not answer the TLS handshake: does this port speak TLS? Use its `tls-port`, or write `redis://`"
    )]
    NoAnswer,

    /// The server closed the connection during the handshake.
    #[error("the server closed the connection during the TLS handshake: does this port speak TLS?")]
    Closed,

    /// The handshake failed for another reason.
    #[error("the TLS handshake fails: {reason}")]
    Handshake {
        /// What went wrong.
        reason: String,
    },

    /// The server accepts TLS only.
    #[error(
        "the server accepts only TLS on this port: write `rediss://`, or add `tls=true` to the URL"
    )]
    Required,
}

impl TlsError {
    #[doc(hidden)]
    pub fn into_io(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }

    /// Recovers the error from the result of [`into_io`](Self::into_io).
    #[doc(hidden)]
    pub fn of_io(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "or none".to_owned();
    }
    names.join(", ")
}
