//! Reads the certificates from their files, for each connection: so renewed files take effect.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use auto_mutex_core::TlsError;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore};

use super::fault;
use crate::wire::Tls;

const LARGEST: u64 = 1 << 20;

pub(super) type Trust = (Arc<ClientConfig>, ServerName<'static>);

pub(crate) fn trust(tls: &Tls, host: &str) -> Result<Trust, TlsError> {
    let name = tls
        .server_name
        .as_deref()
        .unwrap_or_else(|| without_zone(host));
    let server = ServerName::try_from(name)
        .map_err(|_| TlsError::InvalidName {
            name: name.to_owned(),
        })?
        .to_owned();
    let mut roots = RootCertStore::empty();
    match &tls.ca {
        Some(path) => {
            let reason = "a certificate in it is none of an authority that can be read";
            for certificate in certificates(path)? {
                let added = roots.add(certificate);
                added.map_err(|_| in_file(path, reason))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(TlsError::NoSystemRoots);
            }
        }
    }
    let builder = ClientConfig::builder_with_provider(provider()?)
        .with_safe_default_protocol_versions()
        .map_err(|error| fault::of(&error))?
        .with_root_certificates(roots);
    let config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => builder
            .with_client_auth_cert(certificates(cert)?, private_key(key)?)
            .map_err(|error| unusable(key, &error))?,
    };
    Ok((Arc::new(config), server))
}

/// Removes the zone of an IPv6 address. No certificate contains a zone, because only this machine knows it.
fn without_zone(host: &str) -> &str {
    match host.split_once('%') {
        Some((address, _)) if address.contains(':') => address,
        _ => host,
    }
}

/// The library installs no provider for the process, because that choice belongs to the program.
fn provider() -> Result<Arc<CryptoProvider>, TlsError> {
    let chosen = CryptoProvider::get_default().cloned();
    #[cfg(feature = "tls")]
    let chosen = chosen.or_else(|| Some(Arc::new(rustls::crypto::ring::default_provider())));
    chosen.ok_or(TlsError::NoProvider)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|_| in_file(path, "it is not valid PEM"))?;
    if found.is_empty() {
        return Err(in_file(path, "it holds no certificate in PEM"));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        // The original error is replaced, because it may repeat a line of the file.
        let reason = match error {
            PemError::NoItemsFound => {
                "it holds no private key in PEM (an encrypted one does not do)"
            }
            _ => "it is not valid PEM",
        };
        in_file(path, reason)
    })
}

fn unusable(key: &Path, error: &rustls::Error) -> TlsError {
    let reason = match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            "it is not the key of the certificate in `cert`"
        }
        rustls::Error::InvalidCertificate(_) => "the certificate in `cert` cannot be read",
        _ => {
            "a key of this kind, or so damaged, cannot be used; use ECDSA (P-256, P-384), Ed25519 or RSA"
        }
    };
    in_file(key, reason)
}

/// Returns the content of a regular file. Refuses other files, because reading a pipe could block for ever.
fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |error: io::Error| in_file(path, format!("it cannot be read: {error}"));
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(in_file(path, "it is not a file"));
    }
    if found.len() > LARGEST {
        return Err(in_file(path, "it is larger than 1 MiB"));
    }
    fs::read(path).map_err(failed)
}

fn in_file(path: &Path, reason: impl Into<String>) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

#[cfg(all(test, not(feature = "tls")))]
mod tests {
    use super::*;

    #[test]
    fn without_a_provider_the_error_says_how_to_get_one() {
        let error = provider().unwrap_err();
        assert_eq!(error, TlsError::NoProvider);
        let text = error.to_string();
        assert!(
            text.contains("`install_default`") && text.contains("`tls`"),
            "{text}"
        );
    }
}
