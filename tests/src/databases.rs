//! Database servers in temporary folders, without a driver: their users connect to [`Server::url`]. A guardian ends them
//! when the test process ends, even if it is killed.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::events::{PATIENCE, happens_within};
use crate::redis::ports::Port;

/// As that of `redis-server`: starts the server, prints its process id, and ends it by a signal, with its folder, when the
/// input closes.
const GUARDIAN: &str = r#"dir=$1 signal=$2; shift 2; "$@" 2>"$dir/log" & echo $!; exec >&-; read -r keep; kill "-$signal" $! 2>/dev/null; wait; [ -n "$keep" ] || rm -rf "$dir""#;

/// A server, killed when dropped.
pub struct Server {
    // Comes before the folder, so that the server ends before its folder is deleted.
    process: Process,
    port: Port,
    kind: Kind,
    _dir: TempDir,
}

#[derive(Clone, Copy)]
enum Kind {
    Postgres,
    MariaDb,
}

/// Settings that make tests faster: nothing has to outlive the machine.
pub const IN_A_HURRY: [&str; 3] = ["fsync=off", "synchronous_commit=off", "shared_buffers=16MB"];

/// If PostgreSQL is not installed on this machine, says so.
#[must_use]
pub fn missing_postgres() -> Option<String> {
    let missing = program("initdb").is_none();
    missing.then(|| "PostgreSQL is not installed (Debian: postgresql)".to_owned())
}

/// Starts PostgreSQL with its default settings, except for these.
///
/// # Errors
///
/// If it cannot be started on this machine, the reason.
pub fn postgres(settings: &[&str]) -> Result<Server, String> {
    let initdb = program("initdb").ok_or_else(|| missing_postgres().unwrap_or_default())?;
    let (dir, user) = folder()?;
    let data = dir.path().join("data");
    let mut init = user.command(&initdb);
    init.args(["-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C"]);
    let output = init.arg("--no-sync").arg("-D").arg(&data).output();
    let output = output.map_err(text)?;
    if !output.status.success() {
        return Err(format!(
            "initdb: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    start(Kind::Postgres, dir, |port, dir| {
        let mut command = user.command(&initdb.with_file_name("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(dir);
        command.args(["-p", &port.to_string()]);
        command.args(settings.iter().flat_map(|setting| ["-c", *setting]));
        command
    })
}

/// Starts MariaDB with a database `test` and no passwords.
///
/// # Errors
///
/// If it cannot be started on this machine, the reason.
pub fn mariadb() -> Result<Server, String> {
    let mariadbd =
        program("mariadbd").ok_or("MariaDB is not installed (Debian: mariadb-server-core)")?;
    let (dir, user) = folder()?;
    let data = dir.path().join("data");
    // A database is a folder.
    for folder in [&data, &data.join("test")] {
        fs::create_dir(folder)
            .and_then(|()| user.own(folder))
            .map_err(text)?;
    }
    start(Kind::MariaDb, dir, |port, dir| {
        let mut command = user.command(&mariadbd);
        command.arg("--no-defaults");
        // It has no system tables, which would take a second to make.
        command.args(["--skip-grant-tables", "--innodb-buffer-pool-size=8M"]);
        command.args([
            "--innodb-log-file-size=4M",
            "--innodb-flush-log-at-trx-commit=0",
        ]);
        command.args([
            format!("--port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
        ]);
        command.arg(format!("--datadir={}", data.display()));
        command.arg(format!("--socket={}", dir.join("sock").display()));
        command
    })
}

fn start(
    kind: Kind,
    dir: TempDir,
    command: impl Fn(u16, &Path) -> Command,
) -> Result<Server, String> {
    loop {
        let port = Port::new();
        let server = command(port.number(), dir.path());
        let (process, ended) = Process::start(&server, kind.signal(), dir.path())?;
        let is_up = || kind.is_up(dir.path());
        happens_within(PATIENCE, || is_up() || ended.is_finished());
        if is_up() && !ended.is_finished() {
            return Ok(Server {
                process,
                port,
                kind,
                _dir: dir,
            });
        }
        drop(process);
        let log = fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        // Unless another program took the port before the server did.
        if !log.contains("ddress already in use") {
            return Err(log);
        }
    }
}

impl Kind {
    /// Ends the server at once. PostgreSQL ends its children and frees its shared memory.
    fn signal(self) -> &'static str {
        match self {
            Self::Postgres => "QUIT",
            Self::MariaDb => "KILL",
        }
    }

    fn is_up(self, dir: &Path) -> bool {
        match self {
            Self::Postgres => {
                let status = fs::read_to_string(dir.join("data/postmaster.pid"));
                status.is_ok_and(|status| status.lines().nth(7).map(str::trim) == Some("ready"))
            }
            Self::MariaDb => UnixStream::connect(dir.join("sock")).is_ok(),
        }
    }
}

impl Server {
    /// The URL of a database; at first there is `postgres` in PostgreSQL, `test` in MariaDB.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let port = self.port();
        match self.kind {
            Kind::Postgres => {
                format!("postgres://test@127.0.0.1:{port}/{database}?sslmode=disable")
            }
            Kind::MariaDb => format!("mysql://root@127.0.0.1:{port}/{database}"),
        }
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The process of the server, which may have children.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid
    }
}

impl Server {
    /// Runs SQL in the database `postgres`; `false` if it fails.
    #[must_use]
    pub fn runs(&self, sql: &str) -> bool {
        let psql = psql().expect("it is beside the server");
        let mut command = Command::new(psql);
        command.args(["-X", "-q", "-h", "127.0.0.1", "-U", "test", "-p"]);
        command.args([&self.port().to_string(), "-c", sql, "postgres"]);
        let output = command.output().expect("psql runs");
        output.status.success()
    }

    /// Suspends the server with all its processes, or resumes it.
    pub fn suspend(&self, suspended: bool) {
        let signal = if suspended { "-STOP" } else { "-CONT" };
        let text = format!("kill {signal} $(pgrep -P {0}) {0}", self.pid());
        let status = Command::new("sh").args(["-c", &text]).status();
        assert!(status.is_ok_and(|it| it.success()), "{text}");
    }
}

/// The console of PostgreSQL. Debian's `psql` on the path is a script.
pub(crate) fn psql() -> Option<PathBuf> {
    Some(program("initdb")?.with_file_name("psql"))
}

/// A server with its guardian.
struct Process {
    guardian: Child,
    pid: u32,
}

impl Process {
    /// The thread ends when the server does.
    fn start(server: &Command, signal: &str, dir: &Path) -> Result<(Self, JoinHandle<()>), String> {
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARDIAN, "sh"]).arg(dir).arg(signal);
        guardian.arg(server.get_program()).args(server.get_args());
        guardian.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guardian = guardian.spawn().map_err(text)?;
        let mut output = BufReader::new(guardian.stdout.take().expect("a piped stdout"));
        let mut line = String::new();
        output.read_line(&mut line).map_err(text)?;
        let pid = line.trim().parse().expect("a process id");
        let ended = thread::spawn(move || drop(output.read_to_end(&mut Vec::new())));
        Ok((Self { guardian, pid }, ended))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut guardian) = self.guardian.stdin.take() {
            let _ = guardian.write_all(b"keep\n");
        }
        let _ = self.guardian.wait();
    }
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

/// Returns a program, of the newest version that is installed.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<_> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort();
    folders.extend(versions.iter().rev().map(|version| version.join("bin")));
    let programs = folders.iter().map(|folder| folder.join(name));
    // Debian's `initdb` on the path is a link, beside which there is no `postgres`.
    programs
        .filter_map(|program| program.canonicalize().ok())
        .next()
}

/// The user that runs the server: it refuses to run as root.
struct User(Option<(u32, u32)>);

fn folder() -> Result<(TempDir, User), String> {
    let dir = tempfile::Builder::new()
        .prefix("am-db-")
        .tempdir()
        .map_err(text)?;
    let mut user = User(None);
    if geteuid().is_root() {
        let users = fs::read_to_string("/etc/passwd").map_err(text)?;
        let nobody = users.lines().find(|line| line.starts_with("nobody:"));
        let ids = nobody.into_iter().flat_map(|line| line.split(':').skip(2));
        let ids: Vec<u32> = ids.map_while(|id| id.parse().ok()).collect();
        let [id, group] = ids[..] else {
            return Err("there is no user nobody".to_owned());
        };
        user = User(Some((id, group)));
    }
    user.own(dir.path()).map_err(text)?;
    Ok((dir, user))
}

impl User {
    fn own(&self, folder: &Path) -> std::io::Result<()> {
        self.0.map_or(Ok(()), |(user, group)| {
            chown(folder, Some(user), Some(group))
        })
    }

    /// Returns a command that runs `program` as this user.
    fn command(&self, program: &Path) -> Command {
        let Some((user, group)) = self.0 else {
            return Command::new(program);
        };
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={user}"), format!("--regid={group}")]);
        command.arg("--clear-groups").arg(program);
        command
    }
}
