//! Reads the certificates from their files for each connection, so that renewed files take effect. A separate thread
//! reads them, never the one that renews locks, because files on a hanging mount may never be read.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use auto_mutex_seam::TlsError;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::super::Tls;
use super::fault;

const LARGEST: u64 = 1 << 20;

/// How a client checks a server and shows itself to it, and the name of the server.
pub type Trust = (Arc<ClientConfig>, ServerName<'static>);

/// Makes what checks a server's certificate.
pub type Verifier = fn(RootCertStore, Arc<CryptoProvider>) -> Arc<dyn ServerCertVerifier>;

/// The result, or `None` while there is none.
type Reading = watch::Receiver<Option<Result<Trust, TlsError>>>;

thread_local! {
    /// The unfinished reads for connections of this thread. An attempt joins the read of an earlier one, so that a
    /// hanging mount takes one thread, however many attempts there are.
    static READING: RefCell<Vec<(Tls, String, Reading)>> = const { RefCell::new(Vec::new()) };
}

/// Reads the files, for a connection to `host`.
pub async fn trust(tls: &Tls, host: &str, end: Instant) -> Result<Trust, TlsError> {
    let any = || tls.ca.as_deref().or(Some(&tls.identity.as_ref()?.0));
    let any = any().unwrap_or(Path::new("the certificates of the system"));
    let mut reading = reading(tls, host)
        .map_err(|error| in_file(any, format!("no thread can be started to read it: {error}")))?;
    match timeout_at(end, reading.wait_for(Option::is_some)).await {
        Ok(Ok(trust)) => trust.clone().unwrap_or(Err(TlsError::NoSystemRoots)),
        Ok(Err(_)) => Err(in_file(any, "the thread that reads it has panicked")),
        Err(_) => Err(in_file(
            any,
            "it, or another file of the URL, cannot be read in time: its file system does not answer",
        )),
    }
}

fn reading(tls: &Tls, host: &str) -> io::Result<Reading> {
    READING.with_borrow_mut(|all| {
        all.retain(|(.., reading)| reading.has_changed().is_ok());
        let mut known = all.iter().filter(|(of, name, _)| of == tls && name == host);
        if let Some((.., reading)) = known.next() {
            return Ok(reading.clone());
        }
        let (done, reading) = watch::channel(None);
        let (of, name) = (tls.clone(), host.to_owned());
        let thread = thread::Builder::new().name("auto-mutex-certs".to_owned());
        thread.spawn(move || done.send_replace(Some(trust_of(&of, &name))))?;
        all.push((tls.clone(), host.to_owned(), reading.clone()));
        Ok(reading)
    })
}

/// Reads the files on this thread.
pub fn trust_of(tls: &Tls, host: &str) -> Result<Trust, TlsError> {
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
            let reason = "it contains a certificate that cannot be used for an authority";
            for certificate in certificates(path)? {
                let added = roots.add(certificate);
                added.map_err(|_| in_file(path, reason))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() && tls.verifier.is_none() {
                return Err(TlsError::NoSystemRoots);
            }
        }
    }
    let provider = provider()?;
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| fault::of(&error))?
        .with_root_certificates(roots.clone());
    let mut config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => builder
            .with_client_auth_cert(certificates(cert)?, private_key(key)?)
            .map_err(|error| unusable(key, &error))?,
    };
    if let Some(verifier) = tls.verifier {
        let mut dangerous = config.dangerous();
        dangerous.set_certificate_verifier(verifier(roots, provider));
    }
    Ok((Arc::new(config), server))
}

/// Removes the zone from an IPv6 address. Certificates contain none, because zones are local to a machine.
fn without_zone(host: &str) -> &str {
    match host.split_once('%') {
        Some((address, _)) if address.contains(':') => address,
        _ => host,
    }
}

/// The library does not install a provider for the process, because that is the program's decision.
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
        // The original error might repeat a line of the file.
        let reason = match error {
            PemError::NoItemsFound => {
                "it holds no private key in PEM (encrypted keys are not supported)"
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
            "the key is damaged, or of an unsupported kind; use ECDSA (P-256, P-384), Ed25519 or RSA"
        }
    };
    in_file(key, reason)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text));
    match read {
        Err(error) => Err(in_file(path, format!("it cannot be read: {error}"))),
        Ok(length) if length as u64 > LARGEST => Err(in_file(path, "it is larger than 1 MiB")),
        Ok(_) => Ok(text),
    }
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
