//! Dialers that fail, panic, hang or block.

use std::future::{Future, pending, ready};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use auto_mutex::{Client, Config, SetupError};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{becomes, finishes, soon};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stores::quorum_url;
use tokio::net::TcpStream;

use crate::rig::config;

async fn connect(host: String, port: u16) -> io::Result<TcpStream> {
    TcpStream::connect((host, port)).await
}

/// Returns the set-up's error with this dialer; `seconds` is the connect timeout.
fn told<R>(
    seconds: u64,
    dial: impl Fn(String, u16) -> R + Send + Sync + 'static,
) -> (SetupError, String)
where
    R: Future<Output = io::Result<TcpStream>> + Send + 'static,
{
    let config = config("redis://locks.test")
        .dialer(dial)
        .connect_timeout(Duration::from_secs(seconds));
    let error = finishes("an answer", move || {
        Client::connect(config).map(drop).unwrap_err()
    });
    let text = chain(&error);
    (error, text)
}

#[test]
fn what_a_dialer_says_is_told() {
    let (error, text) = told(60, |_, _| {
        ready(Err(io::Error::other("the tunnel is closed")))
    });
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    assert!(text.contains("locks.test:6379"), "{text}");
    assert!(text.contains("the tunnel is closed"), "{text}");
}

#[test]
fn a_dialer_that_panics_is_an_error() {
    let (_, text) = told(60, |_, _| -> std::future::Ready<io::Result<TcpStream>> {
        panic!("as told")
    });
    assert!(text.contains("the dialer panicked"), "{text}");
    let (_, text) = told(60, |_, _| async { panic!("as told") });
    assert!(text.contains("the dialer panicked"), "{text}");
}

#[test]
fn a_dialer_that_hangs_or_blocks_is_given_up() {
    let (_, text) = told(1, |_, _| pending());
    assert!(text.contains("the dialer has not returned"), "{text}");
    let (go_on, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let (_, text) = told(1, move |_, _| {
        let _ = blocked.lock().unwrap().recv();
        ready(Err(io::ErrorKind::Other.into()))
    });
    assert!(text.contains("the dialer has not returned"), "{text}");
    drop(go_on);
}

#[test]
fn a_dialer_is_refused_where_nothing_is_dialed() {
    for url in ["memory://", "unix:///run/redis.sock"] {
        let config = Config::new(url).unwrap().dialer(connect);
        let error = Client::connect(config).map(drop).unwrap_err();
        assert!(
            matches!(
                error,
                SetupError::InvalidOption {
                    option: "dialer",
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialer_that_blocks_holds_up_nobody() {
    let servers = Redis::several(3, &Options::default());
    let blocks = servers[2].port();
    let (go_on, blocked) = mpsc::channel::<()>();
    let (blocked, has_blocked) = (
        Arc::new(Mutex::new(blocked)),
        Arc::new(AtomicBool::new(false)),
    );
    let seen = has_blocked.clone();
    let dial = move |host, port| {
        if port == blocks {
            seen.store(true, Ordering::Release);
            let _ = blocked.lock().unwrap().recv();
        }
        connect(host, port)
    };
    let config = config(&quorum_url(servers.iter().map(Redis::port)));
    let config = config
        .restart_guard(false)
        .store_timeout("60s")
        .dialer(dial);
    let client = Client::connect(config.connect_timeout("60s")).unwrap();
    becomes("the dialer blocks", async || {
        has_blocked.load(Ordering::Acquire)
    })
    .await;
    for _ in 0..10 {
        let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
        assert!(soon("released", guard.unlock()).await.unwrap());
    }
    assert_eq!(servers[2].calls("evalsha"), 0);
    drop(go_on);
    becomes("the last server is used too", async || {
        let guard = client.mutex("m").lock().await.unwrap();
        guard.unlock().await.unwrap() && servers[2].calls("evalsha") > 0
    })
    .await;
}
