//! A primary, its replica, and an address that moves from one to the other.

use std::time::{Duration, Instant};

use auto_mutex::{Client, Config, LockError};
use auto_mutex_tests::events::LONG;
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};

/// The longest lease of all clients unless a test sets another. It is short, since the tests wait for its end: where a
/// lock has to be held, it is too short.
pub(crate) const LONGEST: Duration = Duration::from_secs(4);
/// A promoted server is closed for at least the longest lease plus the time for which a primary without replicas
/// accepts writes.
pub(crate) const CLOSED: Duration = Duration::from_secs(5);
/// For locks that have to be held until the server is promoted. It bears that the machine stands still for five
/// seconds.
pub(crate) const LONGER: Duration = Duration::from_secs(9);
/// A `block` that ends long before any server opens.
pub(crate) const BRIEFLY: Duration = Duration::from_millis(100);

/// Like [`closed`], for a call after a promotion or restart at `since`. On a slow machine, the server may be open
/// again, and then any success is accepted.
#[track_caller]
pub(crate) fn closed_since<T>(since: Instant, result: Result<T, LockError>, happened: &str) {
    match result {
        Ok(_) if since.elapsed() >= CLOSED => println!("it was open when it was asked"),
        result => closed(result, happened),
    }
}

pub(crate) fn config(url: &str) -> Config {
    let config = Config::new(url).expect("a good URL").namespace("suite");
    config.longest_lease(LONGEST).connect_timeout("60s")
}

/// For what waits for no server to open: it would be closed for longer than any test lasts.
pub(crate) fn lasting(url: &str) -> Config {
    config(url).longest_lease(LONG).lease(LONG)
}

pub(crate) fn client(url: &str) -> Client {
    Client::connect(config(url)).expect("a client")
}

pub(crate) struct Pair {
    pub(crate) primary: Redis,
    pub(crate) replica: Redis,
    /// Leads to the primary until [`fail_over`](Self::fail_over).
    pub(crate) address: Proxy,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let [primary, replica] = [(); 2].map(|()| Redis::with(Options::default().replicated()));
        replica.follow(&primary);
        let address = Proxy::start(primary.port());
        Self {
            primary,
            replica,
            address,
        }
    }

    /// The URL of the address that moves.
    pub(crate) fn url(&self) -> String {
        self.primary.url_at(self.address.port())
    }

    /// Kills the primary. The replica takes over with all data that it has.
    pub(crate) fn fail_over(&self) {
        self.replica.promote();
        self.address.redirect(self.replica.port());
        self.address.cut();
        self.primary.kill9();
    }
}

/// Checks the error of a store that grants nothing yet.
#[track_caller]
pub(crate) fn closed<T>(result: Result<T, LockError>, happened: &str) {
    match result {
        Err(LockError::Unavailable { source, .. }) => {
            let text = source.to_string();
            let expected = format!("{happened}; it grants nothing for another ");
            assert!(text.contains(&expected), "{text}");
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("granted, or found busy"),
    }
}
