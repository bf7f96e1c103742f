//! A PostgreSQL for one test that may be killed, restarted and followed by standbys. It ends with the test, even if the
//! test is killed.

mod pooler;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use auto_mutex::LockInfo;
use tempfile::TempDir;

pub use pooler::{Pooler, missing_pooler};

use crate::databases::{self, Process, User};
use crate::events::{PATIENCE, eventually, happens_within};
use crate::process;
use crate::redis::keys::inspect;
use crate::redis::ports::Port;

/// What tests need, and what makes them faster. Nothing has to outlive the machine; a killed process loses nothing by
/// that.
const SETTINGS: [&str; 5] = [
    "fsync=off",
    "shared_buffers=16MB",
    "max_connections=60",
    "checkpoint_timeout=1h",
    "max_wal_size=8MB",
];

/// The end of a server.
#[derive(Clone, Copy, Debug)]
pub enum Down {
    /// It ends all sessions, and writes everything to disk.
    Fast,
    /// It ends all its processes at once.
    Immediate,
    /// Its first process is killed. The others notice.
    Killed,
}

impl Down {
    fn signal(self) -> &'static str {
        match self {
            Self::Fast => "INT",
            Self::Immediate => "QUIT",
            Self::Killed => "KILL",
        }
    }
}

/// A private server, killed when dropped.
pub struct Postgres {
    // Comes before the folder, so that the server ends before its folder is deleted.
    process: Mutex<Option<Process>>,
    port: Port,
    user: User,
    bin: PathBuf,
    is_mount: bool,
    dir: TempDir,
}

/// A file system of this size has room for the server, and for little more.
const SMALL: &str = "96m";

fn mount(folder: &Path, options: &str) -> Result<(), String> {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]);
    databases::succeeds(mount.arg(folder))
}

/// Checks whether this user may mount the file system of [`Postgres::on_small_disk`].
///
/// # Errors
///
/// If not, says so.
pub fn may_mount() -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(databases::text)?;
    let mounted = mount(dir.path(), "size=64k");
    let _ = Command::new("umount").arg(dir.path()).output();
    mounted.map_err(|_| "this user may not mount a file system that can be filled".to_owned())
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// If it is not installed, says so.
    pub fn start() -> Result<Self, String> {
        Self::with(false)
    }

    /// Starts a server whose files are in a small file system.
    ///
    /// # Errors
    ///
    /// If it is not installed, or if this user may not mount, says so.
    pub fn on_small_disk() -> Result<Self, String> {
        Self::with(true)
    }

    fn with(is_mount: bool) -> Result<Self, String> {
        let postgres = Self::new(is_mount)?;
        let data = postgres.data();
        if is_mount {
            std::fs::create_dir(&data).map_err(databases::text)?;
            let mut options = format!("size={SMALL},mode=0700");
            if let User(Some((user, group))) = postgres.user {
                options += &format!(",uid={user},gid={group}");
            }
            mount(&data, &options)?;
        }
        let initdb = postgres.bin.join("initdb");
        databases::init(&postgres.user, &initdb, &data, &["--wal-segsize=1"])?;
        postgres.start_again();
        Ok(postgres)
    }

    fn new(is_mount: bool) -> Result<Self, String> {
        let missing = || databases::missing_postgres().unwrap_or_default();
        let initdb = databases::program("initdb").ok_or_else(missing)?;
        let (dir, user) = databases::folder()?;
        Ok(Self {
            process: Mutex::new(None),
            port: Port::new(),
            user,
            bin: initdb.parent().expect("a folder").to_owned(),
            is_mount,
            dir,
        })
    }

    /// Starts a standby, which follows this server.
    #[must_use]
    pub fn standby(&self) -> Self {
        let standby = Self::new(false).expect("this server was started, too");
        let mut copy = standby.user.command(&self.bin.join("pg_basebackup"));
        copy.args(["-h", "127.0.0.1", "-U", "test", "-R", "-c", "fast", "-p"]);
        copy.arg(self.port().to_string());
        databases::succeeds(copy.arg("-D").arg(standby.data())).expect("a copy");
        standby.start_again();
        standby
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        self.ask("SELECT pg_promote()");
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The URL of the first database.
    #[must_use]
    pub fn url(&self) -> String {
        url_at(&[self.port()])
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first process of the running server.
    #[track_caller]
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process().as_ref().expect("a running server").pid
    }

    /// Ends the server. No error if it has ended by itself.
    pub fn down(&self, how: Down) {
        if let Some(process) = self.process().take() {
            process.end_by(how.signal());
        }
    }

    /// Starts the server again, on the same port, after [`down`](Self::down).
    #[track_caller]
    pub fn start_again(&self) {
        let mut command = self.user.command(&self.bin.join("postgres"));
        command.arg("-D").arg(self.data());
        command.arg("-k").arg(self.dir.path());
        command.args(["-p", &self.port().to_string()]);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", *setting]));
        let mut running = self.process();
        assert!(running.is_none(), "the server is running");
        // Processes of a killed server may still be ending. They keep it from starting again.
        eventually("PostgreSQL starts", || {
            let started = Process::start(&command, Down::Immediate.signal(), self.dir.path());
            let (process, ended) = started.expect("a shell");
            let is_up = || {
                let state = databases::state(self.dir.path());
                state.is_some_and(|(pid, state)| pid == process.pid && state == "ready")
            };
            happens_within(PATIENCE, || is_up() || ended.is_finished());
            *running = is_up().then_some(process);
            running.is_some()
        });
    }

    /// Ends the server and starts it again.
    #[track_caller]
    pub fn restart(&self, how: Down) {
        self.down(how);
        self.start_again();
    }

    /// Suspends the server with all its processes, or resumes it.
    pub fn suspend(&self, suspended: bool) {
        databases::suspend(self.pid(), suspended);
    }

    /// Kills a process of the server that serves a client of the library, as a machine that is short of memory does.
    /// The server ends all others, and recovers by itself. Returns `false` if there is no such client.
    pub fn kill_backend(&self, number: u64) -> bool {
        let sql = format!("SELECT pid FROM pg_stat_activity WHERE {CLIENTS} ORDER BY pid");
        let pids = self.try_ask(&sql).unwrap_or_default();
        let pids: Vec<u32> = pids.lines().filter_map(|pid| pid.parse().ok()).collect();
        let number = number % pids.len().max(1) as u64;
        let pid = pids.get(number as usize);
        pid.inspect(|pid| process::kill9(**pid)).is_some()
    }

    /// Ends the sessions of all clients of the library.
    pub fn terminate_clients(&self) {
        let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {CLIENTS}");
        self.ask(&sql);
    }

    /// Waits until the server takes requests.
    #[track_caller]
    pub fn wait_until_up(&self) {
        eventually("PostgreSQL answers", || self.try_ask("SELECT 1").is_ok());
    }

    /// Runs SQL in the first database, and returns the values; panics on an error.
    #[track_caller]
    pub fn ask(&self, sql: &str) -> String {
        match self.try_ask(sql) {
            Ok(values) => values,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Runs SQL in the first database, and returns the values.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub fn try_ask(&self, sql: &str) -> Result<String, String> {
        databases::ask(self.port(), sql)
    }

    /// A session that runs SQL in the first database, and stays open until the returned value is dropped.
    #[track_caller]
    #[must_use]
    pub fn session(&self, sql: &str) -> Session {
        Session::begin(self.port(), sql)
    }

    /// Fills the file system of [`on_small_disk`](Self::on_small_disk), or makes room again.
    pub fn fill_disk(&self, full: bool) {
        assert!(self.is_mount, "it would fill the disk of the machine");
        let ballast = self.data().join("ballast");
        if !full {
            return std::fs::remove_file(ballast).expect("there is ballast");
        }
        let mut file = std::fs::File::create(ballast).expect("a file");
        let piece = vec![0; 65_536];
        for length in [65_536, 512, 1] {
            while std::io::Write::write_all(&mut file, &piece[..length]).is_ok() {}
        }
    }

    /// Whether the server has ended by itself.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        databases::state(self.dir.path()).is_none_or(|(pid, _)| pid != self.pid())
    }

    /// The number of holders of all names.
    #[track_caller]
    #[must_use]
    pub fn held(&self) -> usize {
        self.inspect().iter().map(|info| info.holders.len()).sum()
    }

    /// The number of waiters of all names.
    #[track_caller]
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inspect().iter().map(|info| info.waiters.len()).sum()
    }

    #[track_caller]
    fn inspect(&self) -> Vec<LockInfo> {
        let names = self.ask("SELECT name FROM auto_mutex.names");
        inspect(&self.url(), names.lines())
    }

    /// The number of members that listen.
    #[track_caller]
    #[must_use]
    pub fn members(&self) -> usize {
        let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
        self.ask(sql).parse().expect("a number")
    }
}

/// The sessions of the library's clients.
const CLIENTS: &str = "application_name = 'auto_mutex'";

/// The URL of the first database of servers on these ports of 127.0.0.1, of which one takes writes.
#[must_use]
pub fn url_at(ports: &[u16]) -> String {
    let hosts: Vec<_> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let hosts = hosts.join(",");
    format!("postgres://test@{hosts}/postgres?sslmode=disable")
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.down(Down::Immediate);
        if self.is_mount {
            let _ = Command::new("umount").arg(self.data()).output();
        }
    }
}

/// A session that has run some SQL, and keeps its transaction open.
pub struct Session {
    child: std::process::Child,
}

impl Session {
    #[track_caller]
    fn begin(port: u16, sql: &str) -> Self {
        use std::io::{BufRead as _, BufReader, Write as _};
        use std::process::Stdio;
        let mut command = databases::console(port);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("psql runs");
        let input = child.stdin.as_mut().expect("a piped stdin");
        writeln!(input, "{sql};\n\\echo done").expect("psql reads");
        let output = BufReader::new(child.stdout.take().expect("a piped stdout"));
        let done = output.lines().any(|line| line.is_ok_and(|it| it == "done"));
        assert!(done, "it failed: {sql}");
        Self { child }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
