//! Set-up fails fast, with a typed error, and never shows a password.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config, SetupError};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{PATIENCE, eventually, finishes};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::worker;

use crate::rig::config;

#[track_caller]
fn failure(url: &str) -> SetupError {
    let started = Instant::now();
    let error = match Client::connect(url) {
        Ok(_) => panic!("{url} works"),
        Err(error) => error,
    };
    assert!(
        started.elapsed() < PATIENCE,
        "it is not fast: {:?}",
        started.elapsed()
    );
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    error
}

#[test]
fn bad_urls_are_refused() {
    for url in [
        "",
        "redis",
        "redis://",
        "redis://:hunter2@",
        "redis://host:notaport",
        "redis://host:99999999",
        "redis://u:hunter2@host:99999",
        "redis://host:1/notadb",
        "redis://u:hunter2@host:1/-1",
        "unix://",
        "redis://u:hunter2@ho st",
        "redis://u:hunter2/@host",
        "://",
        "memory:/x",
    ] {
        let error = failure(url);
        assert!(
            matches!(error, SetupError::InvalidUrl { .. }),
            "{url:?}: {error:?}"
        );
    }
    for url in ["http://u:hunter2@host", "mysql://host", "redlock:hunter2"] {
        let error = failure(url);
        assert!(
            matches!(
                error,
                SetupError::InvalidUrl { .. } | SetupError::UnsupportedStore { .. }
            ),
            "{url:?}: {error:?}"
        );
    }
}

#[test]
fn nobody_there_is_unreachable() {
    let port = Redis::start().port();
    let error = failure(&format!("redis://u:hunter2@127.0.0.1:{port}"));
    let SetupError::Unreachable { address, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*address, format!("127.0.0.1:{port}"));
    let error = failure("unix:///nowhere/at/all.sock");
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    let error = failure("redis://no-such-host.invalid");
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_server_of_another_kind_is_refused() {
    for greeting in [
        "",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "+OK\r\n",
        "$9999999999\r\n",
        "*-7\r\n",
        "\0\0\0",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.write_all(greeting.as_bytes());
                kept.push(stream);
            }
        });
        let config = Config::new(format!("redis://127.0.0.1:{port}"))
            .unwrap()
            .connect_timeout("500ms");
        let error = finishes("an answer", move || {
            Client::connect(config).map(drop).unwrap_err()
        });
        assert!(
            matches!(
                error,
                SetupError::Unreachable { .. } | SetupError::UnsupportedServer { .. }
            ),
            "{greeting:?}: {error:?}"
        );
    }
}

#[test]
fn wrong_credentials_are_told_from_missing_rights() {
    let redis = Redis::with(Options::default().password("right").user(
        "reader",
        "right",
        "~* &* +@read +@connection +@pubsub",
    ));
    let port = redis.port();
    for user in [":hunter2@", "nobody:hunter2@", "default:hunter2@", ""] {
        let error = failure(&format!("redis://{user}127.0.0.1:{port}"));
        assert!(
            matches!(error, SetupError::Authentication { .. }),
            "{user}: {error:?}"
        );
    }
    let error = failure(&format!("redis://reader:right@127.0.0.1:{port}"));
    assert!(matches!(error, SetupError::Permission { .. }), "{error:?}");
}

#[test]
fn a_replica_is_refused() {
    let primary = Redis::start();
    let replica =
        Redis::with(Options::default().line(&format!("replicaof 127.0.0.1 {}", primary.port())));
    let error = failure(&replica.url());
    assert!(matches!(error, SetupError::NotPrimary { .. }), "{error:?}");
}

#[test]
fn a_server_without_room_for_clients_is_unreachable() {
    let redis = Redis::start();
    let mut admin = redis.connect();
    admin.call(&["CONFIG", "SET", "maxclients", "1"]);
    let error = failure(&redis.url());
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    assert!(chain(&error).contains("max number of clients"), "{error}");
}

#[test]
fn a_database_that_does_not_exist_is_refused() {
    let redis = Redis::start();
    let error = failure(&format!("{}/99", redis.url()));
    let text = chain(&error);
    assert!(text.contains("99") || text.contains("DB index"), "{text}");
}

#[test]
fn every_kind_of_address_works() {
    let redis = Redis::with(Options::default().password("a:b/c@d").user(
        "us:er",
        "p%40ss",
        "~* &* +@all",
    ));
    let (port, socket) = (redis.port(), redis.socket());
    let socket = socket.display();
    for url in [
        format!("redis://:a%3Ab%2Fc%40d@127.0.0.1:{port}"),
        format!("redis://default:a%3Ab%2Fc%40d@127.0.0.1:{port}/0"),
        format!("redis://us%3Aer:p%2540ss@localhost:{port}/3"),
        format!("unix://{socket}?pass=a%3Ab%2Fc%40d"),
        format!("redis+unix://{socket}?user=us%3Aer&pass=p%2540ss&db=5"),
    ] {
        let client = Client::connect(config(&url)).unwrap_or_else(|error| panic!("{url}: {error}"));
        let guard = client.mutex("m").blocking_lock().unwrap();
        assert!(guard.blocking_unlock().unwrap());
    }
}

#[test]
fn databases_are_kept_apart() {
    let redis = Redis::start();
    let client = |db: u8| Client::connect(config(&format!("{}/{db}", redis.url()))).unwrap();
    let (one, two) = (client(1), client(2));
    let guard = one.mutex("m").blocking_lock().unwrap();
    assert!(two.mutex("m").blocking_try_lock().unwrap().is_some());
    assert!(client(1).mutex("m").blocking_try_lock().unwrap().is_none());
    assert!(guard.blocking_unlock().unwrap());
}

#[tokio::test]
async fn set_up_works_inside_a_runtime() {
    let redis = Redis::start();
    let client = Client::connect(redis.url()).unwrap();
    drop(client.mutex("m").lock().await.unwrap());
}

#[test]
fn a_client_that_is_gone_leaves_no_connection() {
    let redis = Redis::start();
    for way in 0..3 {
        let client = Client::connect(redis.url()).unwrap();
        let guard = client.mutex("m").blocking_lock().unwrap();
        // The test's own connections close a moment after their last answer.
        eventually("one connection", || redis.clients() == 1);
        match way {
            0 => client.blocking_shutdown(),
            1 => drop((client, guard)),
            _ => drop((guard, client)),
        }
        eventually("the connection is closed", || redis.clients() == 0);
        assert_eq!(redis.held(), 0, "the release went before it");
    }
}

#[test]
fn a_second_setup_is_an_error_and_changes_nothing() {
    let redis = Redis::start();
    let setup = worker::Setup::new(
        env!("CARGO_BIN_EXE_test-worker"),
        redis.url(),
        Duration::from_secs(10),
    );
    let mut worker = setup.start();
    worker.say("again memory://");
    let words = worker.expect("failed again ");
    assert!(words[0].starts_with("AlreadySetUp"), "{words:?}");
    worker.lock("m");
    assert_eq!(redis.held(), 1, "the first one stays in force");
    // After a shutdown, the program has no client, and its locks are released.
    worker.say("shutdown");
    // Two threads of the worker write these lines.
    let mut said = [(); 2].map(|()| worker.hear());
    said.sort();
    assert_eq!(said, ["loss m", "ok"].map(|line| Some(line.to_owned())));
    assert_eq!(redis.held(), 0);
}

#[test]
fn the_server_is_told_which_library_connects_if_it_can_be() {
    let redis = Redis::start();
    let _client = Client::connect(config(&redis.url())).unwrap();
    let list = redis.command(&["CLIENT", "LIST"]);
    let mut lines = list.text().lines();
    let line = lines.find(|line| line.contains("auto_mutex:")).unwrap();
    if redis.has_setinfo() {
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(" lib-name=auto-mutex lib-ver={version}");
        assert!(line.contains(&expected), "{line}");
    } else {
        // The client does not try the command on such a server, because the server would count an error.
        assert_eq!(redis.info("total_error_replies"), "0");
    }
}
