//! TLS, with as much of a look at the server's certificate as `sslmode` says.

use std::io;
use std::sync::Arc;

use auto_mutex_net::socket::{self, Stream, Tls, trust};
use auto_mutex_seam::TlsError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::fingerprint::fingerprint;
use crate::engine::TlsMode;

/// Returns the connection, and the fingerprint of the server's certificate for the login.
pub(super) async fn open(
    tls: &Tls,
    host: &str,
    stream: TcpStream,
    end: Instant,
) -> io::Result<(Stream, Option<Vec<u8>>)> {
    let trust = trust(tls, host, end).await.map_err(TlsError::into_io)?;
    let provider = trust.0.crypto_provider().clone();
    let stream = Stream::secure(stream, trust).await?;
    let certificate = stream.certificate();
    let binding = certificate.and_then(|it| fingerprint(&it, &provider));
    Ok((stream, binding))
}

/// What checks a certificate in place of the usual verifier.
pub(crate) fn verifier(mode: TlsMode) -> Option<socket::Verifier> {
    match mode {
        TlsMode::VerifyFull => None,
        TlsMode::VerifyCa => Some(|roots, provider| {
            Arc::new(Verifier {
                roots: Some(Arc::new(roots)),
                provider,
            })
        }),
        _ => Some(|_, provider| {
            Arc::new(Verifier {
                roots: None,
                provider,
            })
        }),
    }
}

/// Checks no name.
#[derive(Debug)]
struct Verifier {
    /// The trusted authorities; `None` to accept any certificate.
    roots: Option<Arc<RootCertStore>>,
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
        let Some(roots) = self.roots.clone() else {
            return Ok(ServerCertVerified::assertion());
        };
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let trusted = WebPkiServerVerifier::builder_with_provider(roots, self.provider.clone());
        let trusted = trusted
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        match trusted.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
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
