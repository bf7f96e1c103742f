//! A redis-server for one test, and a plain connection to it.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_net::unconnected;
use auto_mutex_seam::store::{
    Driver, MemberId, Name, Op, Replicas, Reply, StoreOptions, same_kind,
};
use auto_mutex_seam::{Config, SetupError, StoreError};
use redis::{Cmd, Connection, FromRedisValue};
use tempfile::TempDir;

use crate::RedisEndpoint;
use crate::connect::Connector;
use crate::connect::epoch::Guard;
use crate::pipeline::Pipeline;
use crate::script::Scripts;
use crate::script::code;
use crate::script::command::{self, Part};
use crate::script::reply;
use crate::wire::{ErrorReply, Value};

/// The source of time of the scripts in tests with a manual clock: the key `now`.
pub(super) const CLOCK: &str =
    "local function clock() return tonumber(redis.call('GET', 'now')) end\n";

/// Far longer than even a slow machine needs.
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
        // `tests/servers` chooses another server than the one in the PATH.
        let program = std::env::var_os("AUTO_MUTEX_REDIS_SERVER");
        Command::new(program.unwrap_or_else(|| "redis-server".into()))
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

    /// A plain connection, through which a test inspects or disturbs the server.
    pub(super) fn connection(&self) -> Connection {
        let client = redis::Client::open(self.url()).unwrap();
        // Without a timeout, because a read with one fails (EINTR) if the machine was suspended.
        client.get_connection().unwrap()
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

/// Connects with the failover guard, but without the restart guard.
pub(super) async fn connect(
    endpoint: &RedisEndpoint,
    limit: Duration,
    replicas: Option<Replicas>,
    member: MemberId,
) -> Result<(Arc<Pipeline>, Box<dyn Driver>), SetupError> {
    let options = StoreOptions {
        connect_timeout: limit,
        replicas,
        ..options(false)
    };
    let connector = Connector::new(endpoint.clone(), &options, member);
    let (store, mut driver) = unconnected(Pipeline::new(connector));
    driver.open(limit).await?;
    Ok((store, driver))
}

pub(super) fn guard(restart: bool) -> Guard {
    Guard::of(&options(restart))
}

fn options(restart: bool) -> StoreOptions {
    let config = Config::new("redis://h").unwrap().restart_guard(restart);
    config.validate().unwrap().options
}

pub(super) fn endpoint(url: &str) -> RedisEndpoint {
    let engine = Config::new(url).unwrap().validate().unwrap().engine;
    same_kind::<RedisEndpoint>(&*engine).unwrap().clone()
}

/// Runs a command, given as words.
pub(super) fn run<T: FromRedisValue>(connection: &mut Connection, words: &[&str]) -> T {
    let mut cmd = Cmd::new();
    cmd.arg(words);
    cmd.query(connection).unwrap()
}

/// Returns the command for an operation, as bytes.
pub(super) fn evaluate(scripts: &Scripts, member: MemberId, name: &Name, op: &Op) -> Vec<u8> {
    evaluate_after(None, scripts, member, name, op)
}

/// Like [`evaluate`], but makes the script keep all tickets in the other keys, and none in the first.
pub(super) fn evaluate_spread(
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    op: &Op,
) -> Vec<u8> {
    evaluate_after(Some((code::SPREAD, 0)), scripts, member, name, op)
}

fn evaluate_after(
    first: Option<(u8, u64)>,
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    op: &Op,
) -> Vec<u8> {
    let joins = false;
    let parts = [Part { name, op, joins }].into_iter();
    command::evaluate(&mut Cmd::new(), scripts, member, first, parts).get_packed_command()
}

/// Runs a command that may return an error reply.
pub(super) fn attempt(connection: &mut Connection, cmd: &[u8]) -> redis::Value {
    use redis::ConnectionLike as _;
    let replies = connection.req_packed_commands(cmd, 0, 1).unwrap();
    replies.into_iter().next().unwrap()
}

/// Parses a reply as the store does.
pub(super) fn parse(value: &redis::Value, op: &Op) -> Result<Reply, StoreError> {
    reply::parse(&borrowed(value), op)
}

/// Converts a value of the `redis` crate into ours.
pub(crate) fn borrowed(value: &redis::Value) -> Value<'_> {
    match value {
        redis::Value::Nil => Value::Nil,
        redis::Value::Int(number) => Value::Integer(*number),
        redis::Value::BulkString(bytes) => Value::Text(bytes),
        redis::Value::Okay => Value::Text(b"OK"),
        redis::Value::SimpleString(text) => Value::Text(text.as_bytes()),
        redis::Value::Array(items) => Value::List(items.iter().map(borrowed).collect()),
        redis::Value::ServerError(error) => Value::Error(ErrorReply {
            code: error.code().into(),
            details: error.details().unwrap_or_default().into(),
        }),
        other => panic!("{other:?}"),
    }
}

/// Returns the keys that have no time to live.
pub(super) fn immortal(connection: &mut Connection, prefix: &str) -> Vec<String> {
    let keys: Vec<String> = run(connection, &["KEYS", &format!("{prefix}*")]);
    let lasting = |key: &String| run::<i64>(connection, &["PTTL", key]) < 0;
    keys.into_iter().filter(lasting).collect()
}
