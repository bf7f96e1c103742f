//! A primary, its replica, and an address that moves from one to the other.

use std::time::{Duration, Instant};

use auto_mutex::{Client, Config, LockError};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};

/// The longest lease of anybody, unless a test says otherwise: a machine that stands still for a second or two ends none.
pub(crate) const LONGEST: Duration = Duration::from_secs(4);
/// For so long a promoted server is closed at least: as long as the longest lease, and as a primary goes on that
/// has lost its replicas.
pub(crate) const CLOSED: Duration = Duration::from_secs(5);
/// A `block` that ends long before anything opens.
pub(crate) const BRIEFLY: Duration = Duration::from_millis(100);

/// What is said of a store that was promoted or restarted at `since`. A slow machine may take as long as it is closed.
#[track_caller]
pub(crate) fn closed_since<T>(since: Instant, result: Result<T, LockError>, happened: &str) {
    match result {
        Ok(_) if since.elapsed() >= CLOSED => println!("it was open when it was asked"),
        result => closed(result, happened),
    }
}

pub(crate) fn config(url: &str) -> Config {
    let config = Config::new(url).expect("a good URL").namespace("suite");
    config.longest_lease(LONGEST).connect_timeout(60)
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

    /// The address that moves.
    pub(crate) fn url(&self) -> String {
        self.primary.url_at(self.address.port())
    }

    /// The primary goes; the replica takes its place, with all that it has.
    pub(crate) fn fail_over(&self) {
        self.replica.promote();
        self.address.redirect(self.replica.port());
        self.address.cut();
        self.primary.kill9();
    }
}

/// What is said of a store that grants nothing yet.
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
