//! Set-up: addresses that work, a second set-up, and what is left of a client. Its errors are tested with the store.

use auto_mutex::{Client, SetupError};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::worker;

use crate::rig::config;

#[test]
fn a_server_without_room_for_clients_is_unreachable() {
    let redis = Redis::start();
    let mut admin = redis.connect();
    admin.call(&["CONFIG", "SET", "maxclients", "1"]);
    let error = Client::connect(config(&redis.url()).connect_timeout("5s")).unwrap_err();
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    assert!(chain(&error).contains("max number of clients"), "{error}");
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
fn a_client_that_is_gone_leaves_no_connection() {
    let redis = Redis::start();
    for way in 0..3 {
        let client = Client::connect(config(&redis.url()).lease(LONG)).unwrap();
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
    let setup = worker::Setup::new(env!("CARGO_BIN_EXE_test-worker"), redis.url(), LONG);
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
