//! Dialers that fail or have nothing to do. Those that panic, hang or block are tested with the transport.

use std::future::{Ready, ready};
use std::io;

use auto_mutex::{Client, Config, SetupError};
use auto_mutex_tests::chain;
use tokio::net::TcpStream;

use crate::rig::config;

fn dial(_: String, _: u16) -> Ready<io::Result<TcpStream>> {
    ready(Err(io::Error::other("the tunnel is closed")))
}

#[test]
fn what_a_dialer_says_is_told() {
    let error = Client::connect(config("redis://locks.test").dialer(dial)).unwrap_err();
    let text = chain(&error);
    assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
    assert!(text.contains("locks.test:6379"), "{text}");
    assert!(text.contains("the tunnel is closed"), "{text}");
}

#[test]
fn a_dialer_is_refused_where_nothing_is_dialed() {
    for url in ["memory://", "unix:///run/redis.sock"] {
        let config = Config::new(url).unwrap().dialer(dial);
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
