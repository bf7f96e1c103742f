//! Direct writes over TLS: the writing thread also encrypts, and no bytes are lost that the socket does not take at
//! first.

use std::net::TcpListener;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

use super::super::server::endpoint;
use super::direct::{does_not_read, many_threads, writes_by_itself};
use super::*;

/// Starts a TLS server; returns it with a member and the directory of its certificate.
async fn secured() -> (Server, Peer, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(path("cert"), cert.pem()).unwrap();
    std::fs::write(path("key"), signing_key.serialize_pem()).unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
        .to_string();
    let (cert, key) = (path("cert"), path("key"));
    let server = Server::with(
        &[
            ["--tls-port", &port],
            ["--tls-cert-file", &cert],
            ["--tls-key-file", &key],
            ["--tls-ca-cert-file", &cert],
            ["--tls-auth-clients", "no"],
        ]
        .concat(),
    );
    let endpoint = endpoint(&format!("rediss://127.0.0.1:{port}?ca={cert}"));
    let peer = Peer::at(&endpoint).await;
    (server, peer, directory)
}

/// This test's runtime has one thread, so the driver runs only while the test awaits something.
#[tokio::test]
async fn a_caller_encrypts_and_writes_by_itself() {
    let (server, peer, _directory) = secured().await;
    writes_by_itself(&server, peer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_many_threads_go_over_tls_in_order() {
    let (_server, peer, _directory) = secured().await;
    many_threads(peer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tls_server_that_does_not_read_blocks_nobody() {
    let (server, peer, _directory) = secured().await;
    does_not_read(&server, peer).await;
}
