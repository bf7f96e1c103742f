//! A quorum reports what it cannot do, and such requests have no effect.

use std::time::Duration;

use auto_mutex::{Config, LockError, SetupError};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::becomes;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::runtimes::current_thread;

use crate::ground::Ground;

const LEASE: Duration = Duration::from_secs(20);

#[test]
fn tokens_of_a_semaphore_are_refused() {
    let ground = Ground::open("tokens");
    let client = ground.member(LEASE);
    current_thread().block_on(async {
        let semaphore = client.semaphore("s", 2);
        let error = semaphore.signal("token").await.unwrap_err();
        assert!(matches!(error, LockError::Unsupported { .. }), "{error:?}");
        assert!(error.to_string().contains("redlock"), "{error}");
        assert!(!semaphore.exists().await.unwrap());
        assert_eq!(semaphore.acquire().await.unwrap().token(), None);
    });
}

#[test]
fn a_permit_that_needs_more_servers_than_there_are_is_unavailable() {
    let ground = Ground::open("permits");
    let client = auto_mutex::Client::connect(ground.config(LEASE).store_timeout("1s")).unwrap();
    ground.servers[0].kill9();
    current_thread().block_on(async {
        // Five permits need five servers, two permits need four.
        becomes("it is told", async || {
            let error = client.semaphore("large", 5).acquire().await.unwrap_err();
            assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
            chain(&error).contains("4 of 5 servers can be reached, 5 are needed")
        })
        .await;
        becomes("four are enough", async || {
            client.semaphore("small", 2).acquire().await.is_ok()
        })
        .await;
        ground.servers[0].start_again();
        becomes("they are all there", async || {
            client.semaphore("large", 5).acquire().await.is_ok()
        })
        .await;
    });
}

#[test]
fn servers_may_have_passwords_and_sockets_of_their_own() {
    let servers = [
        Redis::with(Options::default().password("one")),
        Redis::with(Options::default().password("two")),
        Redis::start(),
    ];
    let urls = [servers[0].url(), servers[1].url(), servers[2].unix_url()];
    let config = |urls: &[String]| Config::quorum(urls).unwrap().restart_guard(false);
    let client = auto_mutex::Client::connect(config(&urls)).unwrap();
    drop(client.mutex("m").blocking_lock().unwrap());
    // If one server refuses the password, set-up fails although the other servers are up.
    let wrong = urls.clone().map(|url| url.replace("two", "three"));
    let error = auto_mutex::Client::connect(config(&wrong)).unwrap_err();
    assert!(
        matches!(error, SetupError::Authentication { .. }),
        "{error:?}"
    );
    assert!(!chain(&error).contains("three"), "{error}");
}
