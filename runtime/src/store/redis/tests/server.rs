//! A private redis-server, and a plain connection to it.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Cmd, Connection, FromRedisValue, Value};
use tempfile::TempDir;

use crate::config::{Config, Endpoint, RedisEndpoint};

/// Far beyond what a slow machine needs.
pub(super) const LONG: Duration = Duration::from_secs(60);

pub(super) struct Server {
    child: Child,
    directory: TempDir,
}

impl Server {
    pub(super) fn start() -> Self {
        Self::with(&[])
    }

    pub(super) fn with(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let child = Self::spawn(&directory, arguments);
        let server = Self { child, directory };
        server.wait();
        server
    }

    fn spawn(directory: &TempDir, arguments: &[&str]) -> Child {
        Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(directory.path().join("socket"))
            .arg("--dir")
            .arg(directory.path())
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server must be on the PATH")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    fn wait(&self) {
        let end = Instant::now() + LONG;
        while UnixStream::connect(self.socket()).is_err() {
            assert!(Instant::now() < end, "redis-server does not start");
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub(super) fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    pub(super) fn endpoint(&self, query: &str) -> RedisEndpoint {
        endpoint(&format!("{}{query}", self.url()))
    }

    /// A connection without a name, for looking and for mischief.
    pub(super) fn connection(&self) -> Connection {
        let client = redis::Client::open(self.url()).unwrap();
        let connection = client.get_connection().unwrap();
        connection.set_read_timeout(Some(LONG)).unwrap();
        connection
    }

    pub(super) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(self.socket());
    }

    pub(super) fn restart(&mut self) {
        self.stop();
        self.child = Self::spawn(&self.directory, &[]);
        self.wait();
    }

    /// Sends a signal by its name.
    pub(super) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill")
            .args([&format!("-{signal}"), &pid])
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(super) fn endpoint(url: &str) -> RedisEndpoint {
    match Config::new(url).unwrap().validate().unwrap().endpoint {
        Endpoint::Redis(endpoint) => endpoint,
        Endpoint::Memory { .. } => panic!("not Redis"),
    }
}

/// Runs a command given as words.
pub(super) fn run<T: FromRedisValue>(connection: &mut Connection, words: &[&str]) -> T {
    let mut cmd = Cmd::new();
    cmd.arg(words);
    cmd.query(connection).unwrap()
}

/// Runs a command whose error is an answer too.
pub(super) fn attempt(connection: &mut Connection, cmd: &Cmd) -> Value {
    let mut pipeline = redis::pipe();
    pipeline.add_command(cmd.clone());
    use redis::ConnectionLike as _;
    let replies = connection
        .req_packed_commands(&pipeline.get_packed_pipeline(), 0, 1)
        .unwrap();
    replies.into_iter().next().unwrap()
}

/// Keys that would stay for ever.
pub(super) fn immortal(connection: &mut Connection, prefix: &str) -> Vec<String> {
    let keys: Vec<String> = run(connection, &["KEYS", &format!("{prefix}*")]);
    let lasting = |key: &String| run::<i64>(connection, &["PTTL", key]) < 0;
    keys.into_iter().filter(lasting).collect()
}
