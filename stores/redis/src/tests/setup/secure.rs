//! Refusals that come after the TLS handshake.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use auto_mutex_seam::TlsError;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use redis::io::tcp::socket2::SockRef;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::*;

/// Refuses a client without a certificate. With `aloud`, the server sends its TLS alert. Otherwise the connection is
/// reset, as happens when a server closes it with unread data.
fn refuse(mut socket: TcpStream, config: &Arc<ServerConfig>, aloud: bool) {
    let mut tls = ServerConnection::new(config.clone()).unwrap();
    loop {
        while tls.wants_write() {
            tls.write_tls(&mut socket).unwrap();
        }
        tls.read_tls(&mut socket).unwrap();
        if tls.process_new_packets().is_err() {
            break;
        }
    }
    if aloud {
        while tls.wants_write() {
            tls.write_tls(&mut socket).unwrap();
        }
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.read(&mut [0]);
    } else {
        SockRef::from(&socket)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }
}

#[tokio::test]
async fn a_refusal_that_is_lost_with_the_connection_is_asked_for() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let mut ca = tempfile::NamedTempFile::new().unwrap();
    ca.write_all(cert.pem().as_bytes()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(vec![cert.der().clone()], signing_key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for (number, socket) in listener.incoming().enumerate() {
            refuse(socket.unwrap(), &config, number > 0);
        }
    });
    let ca = ca.path().display();
    let error = refused(&endpoint(&format!(
        "rediss://:canary@127.0.0.1:{port}?ca={ca}"
    )))
    .await;
    assert!(
        matches!(&error, SetupError::Tls { source, .. } if *source == TlsError::ClientCertificateRequired),
        "{error:?}"
    );
}
