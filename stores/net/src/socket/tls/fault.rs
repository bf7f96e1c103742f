//! Converts errors of rustls into a [`TlsError`].

use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError, Error};

use auto_mutex_seam::TlsError;

/// Why a handshake failed.
pub fn of_handshake(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => TlsError::Closed.into_io(),
        _ => error,
    }
}

/// What an error of rustls means.
pub fn of(error: &Error) -> TlsError {
    match error {
        Error::InvalidCertificate(error) => of_certificate(error),
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::InvalidMessage(_) => TlsError::NotTls,
        Error::PeerIncompatible(reason) => TlsError::Handshake {
            reason: format!(
                "client and server have no version or cipher in common ({reason:?}); TLS 1.2 or 1.3 is needed"
            ),
        },
        other => TlsError::Handshake {
            reason: other.to_string(),
        },
    }
}

fn of_certificate(error: &CertificateError) -> TlsError {
    use CertificateError as Bad;
    match error {
        // A bad signature means that another authority with the same name has replaced the trusted one.
        Bad::UnknownIssuer | Bad::BadSignature => TlsError::UnknownIssuer,
        Bad::Expired | Bad::ExpiredContext { .. } => TlsError::Expired,
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => TlsError::NotYetValid,
        Bad::NotValidForName => TlsError::WrongName { names: Vec::new() },
        Bad::NotValidForNameContext { presented, .. } => TlsError::WrongName {
            names: presented.iter().map(|name| plain(name)).collect(),
        },
        other => TlsError::BadCertificate {
            reason: other.to_string(),
        },
    }
}

/// Converts `DnsName("example")` to `example`, and `IpAddress(127.0.0.1)` to `127.0.0.1`.
fn plain(name: &str) -> String {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"').to_owned()
}

fn of_alert(alert: AlertDescription) -> TlsError {
    use AlertDescription as Alert;
    let refused = |reason: &str| TlsError::ClientCertificateRefused {
        reason: reason.to_owned(),
    };
    match alert {
        Alert::CertificateRequired | Alert::NoCertificate => TlsError::ClientCertificateRequired,
        Alert::UnknownCA => refused("the server does not know its issuer"),
        Alert::CertificateExpired => refused("it has expired"),
        Alert::CertificateRevoked => refused("it was revoked"),
        Alert::BadCertificate | Alert::UnsupportedCertificate | Alert::CertificateUnknown => {
            refused("the server cannot use it")
        }
        Alert::AccessDenied => refused("its owner has no access"),
        // With TLS 1.2, servers send this alert for many reasons, including a missing client certificate.
        Alert::HandshakeFailure => TlsError::Handshake {
            reason: "no cipher in common, or the server requires a client certificate: set `cert` and `key` in the \
                     URL to its files"
                .to_owned(),
        },
        other => TlsError::Handshake {
            reason: format!("the server says {other:?}"),
        },
    }
}
