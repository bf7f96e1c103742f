//! Redis over TCP: each test has one of the servers of `AUTO_MUTEX_TEST_SERVERS` for itself.

use std::env;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};

use auto_mutex::Config;

use super::{TestStore, config};

/// `host:port`, separated by commas.
const SERVERS: &str = "AUTO_MUTEX_TEST_SERVERS";

static FREED: Condvar = Condvar::new();
static IDLE: LazyLock<Mutex<Vec<String>>> = LazyLock::new(|| {
    let servers = env::var(SERVERS).unwrap_or_else(|_| panic!("{SERVERS} names no servers"));
    Mutex::new(servers.split(',').map(str::to_owned).collect())
});

/// A redis-server for one test.
#[derive(Debug)]
pub struct OnRedis(String);

/// Waits for an idle server, and empties it.
pub fn redis() -> OnRedis {
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut idle = FREED
        .wait_while(idle, |idle| idle.is_empty())
        .unwrap_or_else(PoisonError::into_inner);
    let server = OnRedis(idle.pop().expect("an idle server"));
    drop(idle);
    let mut connection = TcpStream::connect(&server.0).expect("a server that runs");
    connection
        .write_all(b"CLIENT KILL TYPE normal SKIPME yes\r\nFLUSHALL\r\nQUIT\r\n")
        .expect("it takes commands");
    let mut answers = String::new();
    connection.read_to_string(&mut answers).expect("answers");
    assert!(answers.ends_with("+OK\r\n"), "{answers:?}");
    server
}

impl Drop for OnRedis {
    fn drop(&mut self) {
        IDLE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(std::mem::take(&mut self.0));
        FREED.notify_one();
    }
}

impl OnRedis {
    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("redis://{}", self.0)
    }
}

impl TestStore for OnRedis {
    fn config(&self) -> Config {
        config(self.url())
    }
}
