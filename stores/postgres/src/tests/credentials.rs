//! Logins with tokens of a provider, and servers that take nobody in.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_mutex_seam::store::{Engine, MemberId, RandomId, Source, StoreOptions, with_sources};
use auto_mutex_seam::{Credentials, ServerAddress, SetupError};

use super::peer::{Peer, engine, options};
use super::real_time::real_time;
use super::server::{Server, shared};

/// A server where `app` logs in with a password.
async fn with_passwords(more: &str) -> Server {
    let mut server = Server::start();
    let admin = server.admin("postgres").await;
    let create = "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'token1'";
    admin.batch_execute(create).await.unwrap();
    let rules = "host all test all trust\nhost all all all scram-sha-256\n";
    server.change(rules, more);
    server
}

fn soon() -> StoreOptions {
    StoreOptions {
        connect_timeout: Duration::from_secs(2),
        ..options()
    }
}

async fn open(engine: Arc<dyn Engine>, options: StoreOptions) -> Result<(), SetupError> {
    let (_store, mut driver) = engine.unconnected(&options, MemberId::random());
    driver.open(options.connect_timeout).await
}

#[tokio::test]
async fn each_connection_asks_the_provider_for_a_token() {
    let server = with_passwords("").await;
    let token = Arc::new(AtomicU32::new(1));
    let current = token.clone();
    let source = Source::new(move |_: ServerAddress| {
        let number = current.load(Ordering::SeqCst);
        async move { Ok(Credentials::password(format!("token{number}"))) }
    });
    let with_password = engine("app:word@h/db").asking(&source);
    assert!(with_password.unwrap_err().contains("password"));
    let url = format!("app@127.0.0.1:{}/postgres", server.port);
    let engine = engine(&url).asking(&source).unwrap();
    let mut peer = Peer::of(engine, MemberId::random(), options())
        .await
        .unwrap();
    peer.works().await;
    // The token has expired, and the next one is good.
    token.store(2, Ordering::SeqCst);
    let admin = server.admin("postgres").await;
    let next = "ALTER ROLE app PASSWORD 'token2'";
    admin.batch_execute(next).await.unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'";
    admin.batch_execute(end).await.unwrap();
    peer.lost().await;
    assert!(peer.connected().await);
    peer.works().await;
    peer.end().await;
}

#[tokio::test]
async fn a_provider_that_fails_or_hangs_is_the_cause() {
    let _watch = real_time();
    let url = shared().url("postgres");
    let failing = Source::new(|_: ServerAddress| async { Err("no token".into()) });
    let hanging = Source::new(|_: ServerAddress| std::future::pending());
    for (source, options, words) in [
        (failing, options(), "no token"),
        (hanging, soon(), "has not answered"),
    ] {
        let engine = engine(&url).asking(&source).unwrap();
        let error = open(engine, options).await.unwrap_err();
        let text = with_sources(&error);
        assert!(matches!(error, SetupError::Credentials { .. }), "{text}");
        assert!(text.contains(words), "{text}");
    }
}

/// While a server is silent, it gets more time with each attempt. The one that takes writes must be reached behind it.
#[tokio::test]
async fn silent_servers_do_not_hide_the_one_behind_them() {
    let _watch = real_time();
    let server = shared();
    let database = server.database().await;
    let silent = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [one, two] = silent.each_ref().map(|it| it.local_addr().unwrap().port());
    let third = server.port;
    let hosts = format!("127.0.0.1:{one},127.0.0.1:{two},127.0.0.1:{third}");
    let brief = StoreOptions {
        connect_timeout: Duration::from_secs(1),
        ..options()
    };
    let mut peer = Peer::lazily(engine(&format!("test@{hosts}/{database}")), brief);
    peer.lost().await;
    assert!(peer.connected().await);
    peer.end().await;
}

#[tokio::test]
async fn a_full_server_is_waited_for() {
    let server = with_passwords("max_connections = 60\nsuperuser_reserved_connections = 3\n").await;
    let admin = server.admin("postgres").await;
    let limit = "CREATE ROLE few LOGIN CONNECTION LIMIT 1; ALTER ROLE few SUPERUSER; ALTER ROLE few NOSUPERUSER; \
                 GRANT CREATE ON DATABASE postgres TO few; ALTER ROLE few PASSWORD 'word'";
    admin.batch_execute(limit).await.unwrap();
    let url = format!("few:word@127.0.0.1:{}/postgres", server.port);
    let first = Peer::new(&url).await;
    let second = tokio::spawn({
        let url = url.clone();
        async move { Peer::new(&url).await.end().await }
    });
    while !server.log().contains("too many connections") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!second.is_finished());
    first.end().await;
    second.await.unwrap();
    // Who may not connect at all is told so.
    let revoke = "REVOKE CONNECT ON DATABASE postgres FROM PUBLIC";
    admin.batch_execute(revoke).await.unwrap();
    let error = Peer::open(&url).await.err().unwrap();
    assert!(matches!(error, SetupError::Permission { .. }), "{error:?}");
}

#[tokio::test]
async fn what_does_not_speak_the_protocol_is_named_as_such() {
    let _watch = real_time();
    for (words, sslmode) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "prefer"),
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "disable"),
        ("-ERR unknown command\r\n", "disable"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.write_all(words.as_bytes());
            let _ = stream.read(&mut [0; 100]);
        });
        let engine = engine(&format!("u@127.0.0.1:{port}/db?sslmode={sslmode}"));
        let error = open(engine, options()).await.unwrap_err();
        let text = with_sources(&error);
        assert!(text.contains("does not speak the protocol"), "{text}");
    }
    // Redis waits for the rest of a line.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let engine = engine(&format!("u@127.0.0.1:{port}/db"));
    let error = open(engine, soon()).await.unwrap_err();
    assert!(error.is_transient());
    assert!(
        with_sources(&error).contains("silent")
            || with_sources(&error).contains("does PostgreSQL run")
    );
}
