//! TLS: reads the certificates for each connection, so that renewed files take effect.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use auto_mutex_core::TlsError;
use auto_mutex_core::store::DialedStream;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::hash::HashAlgorithm;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, SupportedCipherSuite,
};
use tokio_rustls::TlsConnector;

use crate::engine::{Tls, TlsMode};

/// Returns the connection, and the fingerprint of the server's certificate for the login.
pub(crate) async fn open(
    tls: &Tls,
    host: &str,
    stream: Box<dyn DialedStream>,
) -> io::Result<(Box<dyn DialedStream>, Option<Vec<u8>>)> {
    let name = tls.server_name.as_deref().unwrap_or(host).to_owned();
    let server =
        ServerName::try_from(name.clone()).map_err(|_| TlsError::InvalidName { name }.into_io())?;
    let provider = provider().map_err(TlsError::into_io)?;
    let (of_thread, tls) = (provider.clone(), tls.clone());
    // Not on this thread, which renews locks: files on a hanging mount may never be read.
    let read = tokio::task::spawn_blocking(move || config(&tls, of_thread)).await;
    let config = read.map_err(io::Error::from)?.map_err(TlsError::into_io)?;
    let connector = TlsConnector::from(Arc::new(config));
    let connected = connector.connect(server, stream).await;
    let stream = connected.map_err(|error| of_handshake(error).into_io())?;
    let (_, session) = stream.get_ref();
    let certificate = session.peer_certificates().and_then(|all| all.first());
    let binding = certificate.and_then(|it| fingerprint(it, &provider));
    Ok((Box::new(stream), binding))
}

/// The library does not install a provider for the process, because that is the program's decision.
fn provider() -> Result<Arc<CryptoProvider>, TlsError> {
    let chosen = CryptoProvider::get_default().cloned();
    #[cfg(feature = "tls")]
    let chosen = chosen.or_else(|| Some(Arc::new(rustls::crypto::ring::default_provider())));
    chosen.ok_or(TlsError::NoProvider)
}

fn config(tls: &Tls, provider: Arc<CryptoProvider>) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| of(&error))?;
    let trusted = match tls.mode {
        TlsMode::VerifyCa | TlsMode::VerifyFull => {
            let roots = Arc::new(roots(tls)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            let verifier = verifier.build().map_err(|error| TlsError::Handshake {
                reason: error.to_string(),
            })?;
            Some(verifier)
        }
        _ => None,
    };
    let verifier = Arc::new(Verifier {
        trusted,
        provider,
        any_name: tls.mode != TlsMode::VerifyFull,
    });
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let Some((cert, key)) = &tls.identity else {
        return Ok(builder.with_no_client_auth());
    };
    let private = PrivateKeyDer::from_pem_slice(&read(key)?);
    let private = private.map_err(|_| in_file(key, "it holds no private key in PEM"))?;
    let made = builder.with_client_auth_cert(certificates(cert)?, private);
    made.map_err(|_| {
        in_file(
            key,
            "it is not the key of the certificate, or of an unsupported kind",
        )
    })
}

fn roots(tls: &Tls) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    match &tls.ca {
        Some(path) => {
            for certificate in certificates(path)? {
                let reason = "it contains a certificate that cannot be used for an authority";
                roots.add(certificate).map_err(|_| in_file(path, reason))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    match roots.is_empty() {
        true => Err(TlsError::NoSystemRoots),
        false => Ok(roots),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(in_file(path, "it holds no certificate in PEM")),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| in_file(path, &format!("it cannot be read: {error}")))
}

fn in_file(path: &Path, reason: &str) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Checks as much of the certificate as `sslmode` says.
#[derive(Debug)]
struct Verifier {
    /// `None` to accept any certificate.
    trusted: Option<Arc<WebPkiServerVerifier>>,
    any_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        use CertificateError::{NotValidForName, NotValidForNameContext};
        match trusted.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
                if self.any_name =>
            {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

fn of_handshake(error: io::Error) -> TlsError {
    let cause = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
    match (cause, error.kind()) {
        (Some(cause), _) => of(cause),
        (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => TlsError::Closed,
        (None, _) => TlsError::Handshake {
            reason: error.to_string(),
        },
    }
}

fn of(error: &Error) -> TlsError {
    use AlertDescription as Alert;
    use CertificateError as Bad;
    match error {
        Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            TlsError::UnknownIssuer
        }
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => TlsError::Expired,
        Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
            TlsError::NotYetValid
        }
        Error::InvalidCertificate(Bad::NotValidForName) => {
            TlsError::WrongName { names: Vec::new() }
        }
        Error::InvalidCertificate(Bad::NotValidForNameContext { presented, .. }) => {
            TlsError::WrongName {
                names: presented.clone(),
            }
        }
        Error::InvalidCertificate(other) => TlsError::BadCertificate {
            reason: other.to_string(),
        },
        Error::AlertReceived(Alert::CertificateRequired | Alert::NoCertificate) => {
            TlsError::ClientCertificateRequired
        }
        Error::AlertReceived(alert @ (Alert::UnknownCA | Alert::BadCertificate)) => {
            TlsError::ClientCertificateRefused {
                reason: format!("{alert:?}"),
            }
        }
        Error::InvalidMessage(_) => TlsError::NotTls,
        other => TlsError::Handshake {
            reason: other.to_string(),
        },
    }
}

/// The hash of a certificate with the hash function of its signature (RFC 5929), if the provider has it.
fn fingerprint(certificate: &[u8], provider: &CryptoProvider) -> Option<Vec<u8>> {
    let (_, inner, _) = element(certificate)?;
    let (_, _, after) = element(inner)?;
    let (_, algorithm, _) = element(after)?;
    let (_, identifier, _) = element(algorithm)?;
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    let number = |family| identifier.strip_prefix(family);
    let wanted = match (number(RSA), number(ECDSA)) {
        // MD5 and SHA-1 count as SHA-256.
        (Some([4 | 5 | 11]), _) | (_, Some([2])) => HashAlgorithm::SHA256,
        (Some([12]), _) | (_, Some([3])) => HashAlgorithm::SHA384,
        (Some([13]), _) | (_, Some([4])) => HashAlgorithm::SHA512,
        _ => return None,
    };
    let hashes = provider.cipher_suites.iter().map(|suite| match suite {
        SupportedCipherSuite::Tls12(suite) => suite.common.hash_provider,
        SupportedCipherSuite::Tls13(suite) => suite.common.hash_provider,
    });
    let mut hashes = hashes.filter(|hash| hash.algorithm() == wanted);
    Some(hashes.next()?.hash(certificate).as_ref().to_vec())
}

/// The first element in DER: its tag, its content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let add = |sum: usize, digit: &u8| sum << 8 | usize::from(*digit);
            (digits.iter().fold(0, add), rest)
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some((*tag, content, after))
}
