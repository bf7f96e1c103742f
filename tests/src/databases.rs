//! Database servers in temporary folders, without a driver: their users connect to [`Server::url`]. A guardian ends
//! them when the test process ends, even if it is killed.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use rustix::process::{geteuid, getuid};
use tempfile::TempDir;

use crate::events::{PATIENCE, happens_within};
use crate::redis::ports::Port;

/// Starts the server, whichever it is, prints its process id, and ends it when the input closes, with its folder, or
/// by the signal that the input names. A folder of the server may be a file system of its own.
const GUARDIAN: &str = r#"dir=$1 signal=$2; shift 2; "$@" 2>>"$dir/log" & echo $!; exec >&-; read -r keep; kill "-${keep:-$signal}" $! 2>/dev/null; wait; [ -n "$keep" ] || { umount "$dir/data" 2>/dev/null; rm -rf "$dir"; }"#;

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
    init(&user, &initdb, &data, &[])?;
    start(Kind::Postgres, dir, |port, dir| {
        let mut command = user.command(&initdb.with_file_name("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(dir);
        command.args(["-p", &port.to_string()]);
        command.args(settings.iter().flat_map(|setting| ["-c", *setting]));
        command
    })
}

/// Makes the files of a PostgreSQL: a copy of a template, because that is faster. All test processes of this user share
/// the templates, one for each `initdb` and each set of options.
pub(crate) fn init(
    user: &User,
    initdb: &Path,
    data: &Path,
    options: &[&str],
) -> Result<(), String> {
    let template = template(user, initdb, options)?;
    let mut copy = user.command(Path::new("cp"));
    copy.arg("-Rp").arg(template.join("."));
    succeeds(copy.arg(data))
}

/// The folder of a template. The first process that needs it makes it, and the others wait for that one.
fn template(user: &User, initdb: &Path, options: &[&str]) -> Result<PathBuf, String> {
    let made = fs::metadata(initdb).and_then(|it| it.modified());
    let mut key = DefaultHasher::new();
    (initdb, made.map_err(text)?, options).hash(&mut key);
    let uid = getuid().as_raw();
    let templates = place().join(format!("auto-mutex-templates-{uid}"));
    fs::create_dir_all(&templates).map_err(text)?;
    let template = templates.join(format!("{:016x}", key.finish()));
    let lock = File::create(template.with_extension("lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    if !template.exists() {
        let (dir, _) = folder()?;
        let mut init = user.command(initdb);
        init.args(["-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C"]);
        init.arg("--no-sync").args(options);
        let data = dir.path().join("data");
        succeeds(init.arg("-D").arg(&data))?;
        fs::rename(data, &template).map_err(text)?;
    }
    Ok(template)
}

/// Runs a program. If it fails, the error is what it has said.
pub(crate) fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(text)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
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
        let file = dir.path().join("log");
        let log = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(file);
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
            Self::Postgres => state(dir).is_some_and(|(_, state)| state == "ready"),
            Self::MariaDb => UnixStream::connect(dir.join("sock")).is_ok(),
        }
    }
}

/// The process of a PostgreSQL in a folder, and its state, as its file tells them.
pub(crate) fn state(dir: &Path) -> Option<(u32, String)> {
    let text = fs::read_to_string(dir.join("data/postmaster.pid")).ok()?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    Some((lines.first()?.parse().ok()?, (*lines.get(7)?).to_owned()))
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
        ask(self.port(), sql).is_ok()
    }

    /// Suspends the server with all its processes, or resumes it.
    pub fn suspend(&self, suspended: bool) {
        suspend(self.pid(), suspended);
    }
}

/// The console of PostgreSQL. Debian's `psql` on the path is a script.
pub(crate) fn psql() -> Option<PathBuf> {
    Some(program("initdb")?.with_file_name("psql"))
}

/// A command that runs SQL in the database `postgres`.
pub(crate) fn console(port: u16) -> Command {
    let mut command = Command::new(psql().expect("PostgreSQL is installed"));
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
    command.args(["-h", "127.0.0.1", "-U", "test", "-p", &port.to_string()]);
    command.args(["-d", "postgres"]);
    command
}

/// Runs SQL in the database `postgres`, and returns the values.
pub(crate) fn ask(port: u16, sql: &str) -> Result<String, String> {
    let output = console(port).args(["-c", sql]).output().expect("psql runs");
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Suspends a PostgreSQL with all its processes, or resumes it.
pub(crate) fn suspend(pid: u32, suspended: bool) {
    let signal = if suspended { "-STOP" } else { "-CONT" };
    // First the parent, which then starts no others. A child may end meanwhile.
    let text = format!("kill {signal} {pid} && {{ kill {signal} $(pgrep -P {pid}) || :; }}");
    let status = Command::new("sh").args(["-c", &text]).status();
    assert!(status.is_ok_and(|it| it.success()), "{text}");
}

/// A server with its guardian.
pub(crate) struct Process {
    guardian: Child,
    pub(crate) pid: u32,
    signal: &'static str,
}

impl Process {
    /// The thread ends when the server does.
    pub(crate) fn start(
        server: &Command,
        signal: &'static str,
        dir: &Path,
    ) -> Result<(Self, JoinHandle<()>), String> {
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
        let process = Self {
            guardian,
            pid,
            signal,
        };
        Ok((process, ended))
    }

    /// Ends the server by another signal than usual, and waits for its end.
    pub(crate) fn end_by(mut self, signal: &'static str) {
        self.signal = signal;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut guardian) = self.guardian.stdin.take() {
            let _ = writeln!(guardian, "{}", self.signal);
        }
        let _ = self.guardian.wait();
    }
}

pub(crate) fn text(error: std::io::Error) -> String {
    error.to_string()
}

/// Returns a program, of the newest version that is installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
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
pub(crate) struct User(pub(crate) Option<(u32, u32)>);

/// Where the servers have their files: `tests/run` names a folder in memory, if there is one.
fn place() -> PathBuf {
    std::env::var_os("AUTO_MUTEX_DATABASES").map_or_else(std::env::temp_dir, PathBuf::from)
}

pub(crate) fn folder() -> Result<(TempDir, User), String> {
    let dir = tempfile::Builder::new()
        .prefix("am-db-")
        .tempdir_in(place())
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
    pub(crate) fn command(&self, program: &Path) -> Command {
        let Some((user, group)) = self.0 else {
            return Command::new(program);
        };
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={user}"), format!("--regid={group}")]);
        command.arg("--clear-groups").arg(program);
        command
    }
}
