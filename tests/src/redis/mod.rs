//! A redis-server for one test, with its own directory, port and Unix socket. It ends with the test, even if the test
//! is killed.

pub(crate) mod keys;
mod options;
pub(crate) mod ports;
mod replicas;
mod server;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

pub use keys::Key;
pub use options::Options;
use ports::Port;
use server::Server;

use crate::events::eventually;
use crate::process;
use crate::resp::{Connection, Value};

/// A private server, killed when dropped.
pub struct Redis {
    // Comes before `dir`, so that the server ends before its directory is deleted.
    server: Mutex<Option<Server>>,
    options: Options,
    port: Port,
    tls_port: Option<Port>,
    dir: TempDir,
}

impl Redis {
    /// Starts a server that asks for no password and stores no data on disk.
    pub fn start() -> Self {
        Self::with(Options::default())
    }

    /// Starts `count` servers with the same options, in parallel.
    pub fn several(count: usize, options: &Options) -> Vec<Self> {
        std::thread::scope(|scope| {
            let starting: Vec<_> = (0..count)
                .map(|_| scope.spawn(|| Self::with(options.clone())))
                .collect();
            let started = starting.into_iter().map(|starting| starting.join());
            started.map(|server| server.expect("a server")).collect()
        })
    }

    /// Starts a server with options.
    pub fn with(options: Options) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("am-")
            .tempdir()
            .expect("a temporary directory");
        let port = |options: &Options| match options.is_cluster() {
            true => Port::with_bus(),
            false => Port::new(),
        };
        let mut redis = Self {
            server: Mutex::new(None),
            port: port(&options),
            options,
            tls_port: None,
            dir,
        };
        // Another program may take the port before the server binds it. In that case, try another port.
        for _ in 0..50 {
            redis.tls_port = redis.options.has_tls().then(Port::new);
            let (dir, tls_port) = (redis.dir.path(), redis.tls_port());
            redis.options.write(dir, redis.port(), tls_port);
            let server = Server::start(dir, &redis.options);
            redis.server = Mutex::new(server);
            if redis.is_running() && redis.comes_up() {
                return redis;
            }
            redis.port = port(&redis.options);
        }
        let log = std::fs::read_to_string(redis.dir.path().join("log")).unwrap_or_default();
        panic!("redis-server does not start (is it installed?):\n{log}");
    }

    /// Makes the server independent of the authority's directory, which may then be deleted. The running server does
    /// not read its certificate again.
    pub(crate) fn copy_ca(&mut self) {
        self.options.copy_ca_to(self.dir.path());
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("sock")
    }

    /// The URL over TCP, with the credentials of the options.
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The URL over TCP at another port, such as a proxy's.
    pub fn url_at(&self, port: u16) -> String {
        format!("redis://{}127.0.0.1:{port}", self.options.credentials())
    }

    /// The port on 127.0.0.1 for TLS; 0 without TLS.
    pub fn tls_port(&self) -> u16 {
        self.tls_port.as_ref().map_or(0, Port::number)
    }

    /// The URL over TLS, with the credentials of the options and the authority to trust.
    pub fn tls_url(&self) -> String {
        self.tls_url_at(self.tls_port())
    }

    /// The URL over TLS at another port, such as a proxy's.
    pub fn tls_url_at(&self, port: u16) -> String {
        let (login, trust) = (self.options.credentials(), self.options.trust());
        format!("rediss://{login}127.0.0.1:{port}?{trust}")
    }

    /// The URL of the unix socket, without credentials.
    pub fn unix_url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Connects as the administrator.
    pub fn connect(&self) -> Connection {
        self.try_connect().expect("a connection to redis-server")
    }

    fn try_connect(&self) -> std::io::Result<Connection> {
        self.log_in(Connection::tcp(self.port())?)
    }

    fn log_in(&self, mut connection: Connection) -> std::io::Result<Connection> {
        if let Some(password) = self.options.password_for_admin() {
            connection
                .try_call(&["AUTH", password])
                .map_err(std::io::Error::other)?;
        }
        Ok(connection)
    }

    /// Runs one command as the administrator; panics on an error.
    #[track_caller]
    pub fn command(&self, command: &[&str]) -> Value {
        self.connect().call(command)
    }

    /// Where the server keeps its files.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// As [`command`](Self::command), but a failure, or no answer within a second, is an error.
    pub fn try_command(&self, command: &[&str]) -> Result<Value, String> {
        let connection = Connection::brief(self.port(), Duration::from_secs(1));
        let connection = connection.and_then(|connection| self.log_in(connection));
        let mut connection = connection.map_err(|error| error.to_string())?;
        connection.try_call(command)
    }

    /// As [`info`](Self::info); `None` if the server does not answer.
    pub fn try_info(&self, field: &str) -> Option<String> {
        let info = self.try_command(&["INFO", "everything"]).ok()?;
        Some(field_of(&info, field))
    }

    /// Whether the server was not killed. A suspended server counts as running.
    pub fn is_running(&self) -> bool {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.is_some()
    }

    /// A field of `INFO`.
    #[track_caller]
    pub fn info(&self, field: &str) -> String {
        field_of(&self.command(&["INFO", "everything"]), field)
    }

    /// Whether the server is version 7.2 or above, which has `CLIENT SETINFO`.
    #[track_caller]
    pub fn has_setinfo(&self) -> bool {
        let version = self.info("redis_version");
        let mut numbers = version.split('.').map(|number| number.parse::<u32>());
        let mut next = || numbers.next().and_then(Result::ok).expect("a number");
        (next(), next()) >= (7, 2)
    }

    /// The number of calls of `command`, including rejected ones.
    pub fn calls(&self, command: &str) -> u64 {
        self.info(&format!("cmdstat_{command}"))
            .split(',')
            .filter_map(|word| word.split_once('='))
            .filter(|(name, _)| matches!(*name, "calls" | "rejected_calls"))
            .filter_map(|(_, count)| count.parse::<u64>().ok())
            .sum()
    }

    /// The number of connections, without the one that asks.
    pub fn clients(&self) -> usize {
        let list = self.command(&["CLIENT", "LIST"]);
        list.text().lines().count().saturating_sub(1)
    }

    /// Closes all client connections, except the one that sends the command.
    pub fn kill_clients(&self) {
        let mut connection = self.connect();
        for kind in ["normal", "pubsub"] {
            connection.call(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"]);
        }
    }

    /// The process id of the running server.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().expect("a running server").pid()
    }

    /// Kills the server; its persistent data (see [`Options::survives_kills`]) stays in its directory.
    pub fn kill9(&self) {
        let server = self
            .server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(server);
    }

    /// Starts the server again, on the same port, after [`kill9`](Self::kill9).
    #[track_caller]
    pub fn start_again(&self) {
        self.start_loading();
        assert!(self.comes_up(), "redis-server ends after its start");
    }

    /// Starts the server again, without waiting until it has loaded its data.
    #[track_caller]
    pub fn start_loading(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(server.is_none(), "the server is running");
        // A client that tries to connect may occupy the port for a moment.
        eventually("redis-server starts again", || {
            *server = Server::start(self.dir.path(), &self.options);
            server.is_some()
        });
    }

    /// Kills the server and starts it again.
    #[track_caller]
    pub fn restart(&self) {
        self.kill9();
        self.start_again();
    }

    /// Makes the server write a snapshot of its current data.
    #[track_caller]
    pub fn save(&self) {
        // The server may still be writing the snapshot for a new replica; then `SAVE` would fail.
        eventually("no other snapshot is being written", || {
            self.info("rdb_bgsave_in_progress") == "0"
        });
        self.command(&["SAVE"]);
    }

    /// Suspends the server: it keeps its connections but does not answer.
    pub fn stop(&self) {
        process::stop(self.pid());
    }

    /// Resumes a suspended server.
    pub fn cont(&self) {
        process::cont(self.pid());
    }

    /// Keeps the server busy with a script for about `duration`, on another thread. Returns when the script has begun.
    /// After 20 ms, the server answers `BUSY` to other clients.
    pub fn keep_busy(&self, duration: Duration) {
        const LOOP: &str = "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end \
                            local till = now() + ARGV[1] while now() < till do end";
        self.command(&["CONFIG", "SET", "lua-time-limit", "20"]);
        let millis = duration.as_millis().to_string();
        let start = || {
            let mut script = self.connect();
            script
                .send(&["EVAL", LOOP, "0", &millis])
                .expect("the script is sent");
            // Reads the reply to keep the server's log clean. Closing the connection would not end the script.
            std::thread::spawn(move || drop(script.receive()))
        };
        let mut probe = self.connect();
        let mut running = start();
        eventually("the script keeps the server busy", || {
            // On a slow machine, the script may end before the probe sees it.
            if running.is_finished() {
                running = start();
            }
            matches!(probe.try_call(&["PING"]), Err(error) if error.starts_with("BUSY"))
        });
    }

    /// Waits until the server answers. Returns false if the server ended.
    #[track_caller]
    fn comes_up(&self) -> bool {
        let mut answers = false;
        eventually("redis-server answers", || {
            let connection = self.try_connect();
            answers = connection.is_ok_and(|mut it| it.try_call(&["PING"]).is_ok());
            answers || self.has_ended()
        });
        answers
    }

    fn has_ended(&self) -> bool {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().is_some_and(Server::has_ended)
    }
}

/// A field of the reply to `INFO`; empty if there is no such field.
fn field_of(info: &Value, field: &str) -> String {
    let mut lines = info.text().lines();
    let found = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    found.unwrap_or_default().to_owned()
}
