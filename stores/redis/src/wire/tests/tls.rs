//! A session whose socket has small buffers, and a peer that reads only when the test tells it to.

use std::future::poll_fn;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use auto_mutex_net::socket::{Stream, Tls, trust_of};
use auto_mutex_seam::TlsError;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use redis::io::tcp::socket2::SockRef;
use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);
type Peer = StreamOwned<ServerConnection, TcpStream>;

/// Makes a session, and a thread at its other end that waits for a start message and then does `work`.
async fn session<T: Send + 'static>(
    work: impl FnOnce(Peer) -> T + Send + 'static,
) -> (Stream, Sender<()>, JoinHandle<T>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), cert.pem()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], signing_key.into())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    SockRef::from(&listener).set_recv_buffer_size(4096).unwrap();
    let address = listener.local_addr().unwrap();
    let (go, told) = channel();
    let peer = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut tls = ServerConnection::new(Arc::new(config)).unwrap();
        let mut socket = socket;
        tls.complete_io(&mut socket).unwrap();
        told.recv().unwrap();
        work(Peer::new(tls, socket))
    });
    let socket = tokio::net::TcpStream::connect(address).await.unwrap();
    SockRef::from(&socket).set_send_buffer_size(4096).unwrap();
    let tls = Tls {
        ca: Some(ca.path().to_owned()),
        ..Tls::default()
    };
    let trust = trust_of(&tls, "localhost").unwrap();
    let session = timeout(LONG, Stream::secure(socket, trust)).await;
    (session.unwrap().unwrap(), go, peer)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 % 251) as u8).collect()
}

/// Writes as many bytes as the session takes without waiting.
fn write_some(session: &Stream, bytes: &mut &[u8]) {
    while !bytes.is_empty() {
        match session.try_write(bytes) {
            Ok(count) => *bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn write_all(session: &Stream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        poll_fn(|cx| session.poll_ready(cx)).await.unwrap();
        write_some(session, &mut bytes);
    }
}

async fn read_exact(session: &Stream, length: usize) -> Vec<u8> {
    let mut found = Vec::new();
    while found.len() < length {
        let mut buffer = [0; 5000];
        let count = poll_fn(|cx| session.poll_read(cx, &mut buffer))
            .await
            .unwrap();
        assert!(count > 0, "closed");
        found.extend_from_slice(&buffer[..count]);
    }
    found
}

#[tokio::test]
async fn the_cryptography_of_the_process_is_left_to_the_program() {
    let (_session, go, peer) = session(drop).await;
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    go.send(()).unwrap();
    peer.join().unwrap();
}

#[tokio::test]
async fn what_was_taken_has_left_whatever_is_written_next() {
    const LENGTH: usize = 3 << 20;
    let (session, go, peer) = session(|mut peer| {
        let mut found = vec![0; LENGTH];
        peer.read_exact(&mut found).unwrap();
        found
    })
    .await;
    let sent = pattern(LENGTH);
    let mut rest = &*sent;
    write_some(&session, &mut rest);
    assert!(!rest.is_empty(), "the socket takes all there is");
    go.send(()).unwrap();
    timeout(LONG, write_all(&session, rest)).await.unwrap();
    // Nothing more is written: the bytes that count as written must arrive without another write.
    assert!(peer.join().unwrap() == sent);
}

#[tokio::test]
async fn replies_longer_than_a_record_are_read_in_full() {
    const LENGTH: usize = 1 << 20;
    let (session, go, peer) = session(|mut peer| {
        peer.write_all(&pattern(LENGTH)).unwrap();
        peer
    })
    .await;
    go.send(()).unwrap();
    let found = timeout(LONG, read_exact(&session, LENGTH)).await.unwrap();
    assert!(found == pattern(LENGTH));
    drop(peer.join().unwrap());
}

#[tokio::test]
async fn keys_may_be_changed_while_the_socket_is_stuck() {
    const LENGTH: usize = 1 << 20;
    let (session, go, peer) = session(|mut peer| {
        // The peer changes its key, and asks the session to change its key too.
        peer.conn.refresh_traffic_keys().unwrap();
        peer.write_all(b"hello").unwrap();
        let mut found = vec![0; LENGTH];
        peer.read_exact(&mut found).unwrap();
        found
    })
    .await;
    let sent = pattern(LENGTH);
    let mut rest = &*sent;
    write_some(&session, &mut rest);
    assert!(!rest.is_empty(), "the socket takes all there is");
    go.send(()).unwrap();
    let hello = timeout(LONG, read_exact(&session, 5)).await.unwrap();
    assert_eq!(hello, b"hello");
    timeout(LONG, write_all(&session, rest)).await.unwrap();
    assert!(peer.join().unwrap() == sent);
}

#[tokio::test]
async fn what_was_said_before_the_end_is_heard_by_who_writes() {
    let (session, go, peer) = session(|peer| {
        let (_tls, mut socket) = peer.into_parts();
        socket.write_all(b"this is no TLS").unwrap();
        socket
    })
    .await;
    go.send(()).unwrap();
    let _socket = peer.join().unwrap();
    session.close(Shutdown::Write);
    let error = session.try_write(b"a question").unwrap_err();
    let inner = TlsError::of_io(&error);
    assert_eq!(inner, Some(&TlsError::NotTls), "{error:?}");
}
