//! The first connection: which servers are refused, and with which errors.

#[cfg(feature = "tls")]
mod secure;

use std::io::Read as _;
use std::net::TcpListener;
use std::time::Duration;

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{MemberId, RandomId, with_sources};

use super::real_time::real_time;
use super::server::{LONG, Server, connect, endpoint, run};
use crate::RedisEndpoint;

async fn attempt(endpoint: &RedisEndpoint, limit: Duration) -> Result<(), SetupError> {
    connect(endpoint, limit, None, MemberId::random())
        .await
        .map(drop)
}

async fn refused(endpoint: &RedisEndpoint) -> SetupError {
    let error = attempt(endpoint, LONG).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("canary"), "{text}");
    error
}

#[tokio::test]
async fn a_server_is_reached_by_tcp_with_user_password_and_database() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let arguments = ["--port", &port.to_string(), "--requirepass", "pa:ss@/%"];
    let server = Server::with(&arguments);
    for login in [":pa%3Ass%40%2F%25@", "default:pa%3Ass%40%2F%25@"] {
        let endpoint = endpoint(&format!("redis://{login}127.0.0.1:{port}/3?protocol=resp3"));
        assert!(attempt(&endpoint, LONG).await.is_ok());
    }
    assert!(
        attempt(&server.endpoint("?pass=pa%3Ass%40%2F%25&db=15"), LONG)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn wrong_credentials_are_an_authentication_error() {
    let server = Server::with(&["--requirepass", "secret"]);
    for query in [
        "",
        "?pass=canary",
        "?user=canary&pass=canary",
        "?user=canary",
    ] {
        let error = refused(&server.endpoint(query)).await;
        assert!(
            matches!(error, SetupError::Authentication { .. }),
            "{query} {error:?}"
        );
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable_at_once() {
    let mut server = Server::start();
    let endpoint = server.endpoint("?pass=canary");
    server.stop();
    assert!(matches!(
        refused(&endpoint).await,
        SetupError::Unreachable { .. }
    ));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unreachable_in_time() {
    let _watch = real_time();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let endpoint = endpoint(&format!("redis://:canary@127.0.0.1:{port}"));
    let error = attempt(&endpoint, Duration::from_millis(200))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, SetupError::Unreachable { source, .. } if source.to_string().contains("200ms"))
    );
}

/// The listener's connection queue is full, so not even TCP answers.
#[tokio::test]
async fn the_same_is_said_of_an_address_that_no_packet_comes_back_from() {
    let _watch = real_time();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let _first = tokio::net::TcpStream::connect(address).await.unwrap();
    let port = address.port();
    let endpoint = endpoint(&format!("redis://127.0.0.1:{port}"));
    for limit in [50, 73, 100, 200] {
        let limit = Duration::from_millis(limit);
        let error = attempt(&endpoint, limit).await.unwrap_err();
        let SetupError::Unreachable { source, .. } = error else {
            panic!("{error:?}");
        };
        let text = source.to_string();
        assert!(text.contains(&format!("within {limit:?}")), "{text}");
    }
}

#[tokio::test]
async fn something_that_is_no_redis_is_unreachable() {
    use std::io::Write as _;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = refused(&endpoint(&format!("redis://:canary@127.0.0.1:{port}"))).await;
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    server.join().unwrap();
}

/// Not a proxy "that speaks RESP2 only", which closes the connection, too.
#[tokio::test]
async fn a_server_that_ends_at_the_greeting_has_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 512]);
        drop(listener);
    });
    let error = refused(&endpoint(&format!("redis://127.0.0.1:{port}"))).await;
    let text = with_sources(&error);
    assert!(text.contains("refused"), "{text}");
    server.join().unwrap();
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_told() {
    let server = Server::start();
    let error = refused(&server.endpoint("?db=16")).await;
    assert!(matches!(error, SetupError::Unsuitable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_replica_is_not_a_primary() {
    let server = Server::start();
    run::<()>(&mut server.connection(), &["REPLICAOF", "127.0.0.1", "1"]);
    let error = refused(&server.endpoint("")).await;
    assert!(matches!(&error, SetupError::NotPrimary { .. }), "{error:?}");
}

#[tokio::test]
async fn a_cluster_node_says_that_it_is_one() {
    let server = Server::with(&["--cluster-enabled", "yes"]);
    let error = refused(&server.endpoint("")).await;
    assert!(
        matches!(&error, SetupError::UnsupportedStore { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_trial_leaves_nothing_behind_but_the_epoch() {
    let server = Server::start();
    for _ in 0..2 {
        attempt(&server.endpoint(""), LONG).await.unwrap();
        let keys: Vec<String> = run(&mut server.connection(), &["KEYS", "*"]);
        assert_eq!(keys, ["auto_mutex:epoch"]);
    }
}

/// How many scripts a set-up runs.
async fn runs_of_a_set_up(server: &Server) -> u64 {
    let mut admin = server.connection();
    run::<()>(&mut admin, &["CONFIG", "RESETSTAT"]);
    attempt(&server.endpoint(""), LONG).await.unwrap();
    let stats: String = run(&mut admin, &["INFO", "commandstats"]);
    let (_, rest) = stats.split_once("cmdstat_evalsha:calls=").unwrap();
    rest.split_once(',').unwrap().0.parse().unwrap()
}

#[tokio::test]
async fn only_the_first_client_of_a_server_runs_the_scripts() {
    let mut server = Server::start();
    let first = runs_of_a_set_up(&server).await;
    assert!(first > 2, "{first}");
    assert_eq!(runs_of_a_set_up(&server).await, 1);
    let mut admin = server.connection();
    let left: i64 = run(&mut admin, &["PTTL", "auto_mutex:epoch"]);
    assert!(left > 0, "{left}");
    // Another process may have another version or configuration, even with the same data.
    run::<()>(&mut admin, &["SAVE"]);
    server.restart();
    let mut admin = server.connection();
    let kept: bool = run(&mut admin, &["EXISTS", "auto_mutex:epoch"]);
    assert!(kept);
    assert_eq!(runs_of_a_set_up(&server).await, first);
}
