//! [`TlsError`]: why there is no TLS with a server. The types of the TLS library stay inside.

use std::path::PathBuf;

use thiserror::Error;

/// Why a server cannot be talked to by TLS, or not without it. Every text says what to change; none shows what is in a
/// file.
///
/// Found as the `source` of [`SetupError::Tls`](crate::SetupError::Tls).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file that the URL names cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The system trusts nobody.
    #[error(
        "this system has no certificates of authorities: install them (Debian: ca-certificates), or name a file of \
         them by `ca` in the URL"
    )]
    NoSystemRoots,

    /// A certificate can never have this name.
    #[error(
        "`{name}` is no name that a certificate could have: give the one that it has as `server_name` in the URL"
    )]
    InvalidName {
        /// The `server_name` of the URL, or its host.
        name: String,
    },

    /// Nobody who is trusted has signed the server's certificate.
    #[error(
        "the server's certificate is not signed by anybody who is trusted: name the file of its authority's \
         certificate by `ca` in the URL"
    )]
    UnknownIssuer,

    /// The server's certificate is for another name.
    #[error(
        "the server's certificate is for another name ({}): connect by a name that it has, or give that name as \
         `server_name` in the URL",
        listed(names)
    )]
    WrongName {
        /// Those that it has, as far as known.
        names: Vec<String>,
    },

    /// The server's certificate is too old.
    #[error(
        "the server's certificate has expired: renew it there (or correct the clock of this machine)"
    )]
    Expired,

    /// The server's certificate is too new.
    #[error(
        "the server's certificate is not valid yet: correct the clock of this machine (or the certificate)"
    )]
    NotYetValid,

    /// The server's certificate is no good for another reason.
    #[error("the server's certificate cannot be used: {reason}")]
    BadCertificate {
        /// What is wrong with it.
        reason: String,
    },

    /// The server wants to know who we are.
    #[error(
        "the server asks for a certificate of its clients: name its files by `cert` and `key` in the URL"
    )]
    ClientCertificateRequired,

    /// The server does not accept our certificate.
    #[error(
        "the server refuses the client's certificate ({reason}): give `cert` and `key` of one that its authority has \
         signed and that is valid"
    )]
    ClientCertificateRefused {
        /// What the server says about it.
        reason: String,
    },

    /// What was answered is not TLS.
    #[error(
        "the server does not speak TLS here: does this port speak TLS? (`tls-port` of the server; else write \
         `redis://`)"
    )]
    NotTls,

    /// The server said nothing.
    #[error(
        "the server does not answer the TLS handshake: does this port speak TLS? (`tls-port` of the server; else write \
         `redis://`)"
    )]
    NoAnswer,

    /// The server closed the connection.
    #[error("the server closed the connection during the TLS handshake: does this port speak TLS?")]
    Closed,

    /// The handshake failed for another reason.
    #[error("the TLS handshake fails: {reason}")]
    Handshake {
        /// What was said about it.
        reason: String,
    },

    /// The server speaks nothing but TLS.
    #[error("the server speaks TLS here: write `rediss://`, or add `tls=true` to the URL")]
    Required,
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "or none".to_owned();
    }
    names.join(", ")
}
