//! A PostgreSQL server in a temporary folder, with default settings except for the number of connections. Statements are
//! counted by the extension `pg_stat_statements`, bytes by the kernel (`ss`).

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use sqlx::{Connection, PgConnection, Row};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::Stats;
use crate::Failure;
use crate::run::pin;

/// Enough for the scenario with the most waiters. The default is 100.
const CONNECTIONS: &str = "max_connections=200";
const START: Duration = Duration::from_secs(30);

pub(crate) struct Postgres {
    process: Child,
    port: u16,
    runtime: Runtime,
    /// Uses another database than the workers, so its statements are not counted.
    connection: Option<PgConnection>,
    _dir: TempDir,
}

/// Returns the folder of PostgreSQL's programs, if it is installed.
fn programs() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut folders: Vec<PathBuf> = debian
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.splice(0..0, std::env::split_paths(&path));
    folders
        .into_iter()
        .rev()
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

/// If PostgreSQL cannot be started on this machine, returns the reason.
pub(crate) fn missing() -> Option<String> {
    programs()
        .is_none()
        .then(|| "PostgreSQL is not installed (Debian: postgresql)".to_owned())
}

impl Postgres {
    /// Starts the server on the server's processor.
    pub(super) fn start() -> Result<Self, Failure> {
        let programs = programs().ok_or("PostgreSQL is not installed")?;
        let dir = tempfile::Builder::new().prefix("am-pg-").tempdir()?;
        let data = dir.path().join("data");
        let user = User::unprivileged(dir.path())?;
        let status = user
            .command(&programs.join("initdb"))
            .arg("-D")
            .arg(&data)
            .args([
                "-U",
                "bench",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ])
            .stdout(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("initdb failed: {status}").into());
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = fs::File::create(dir.path().join("log"))?;
        let mut command = user.command(&programs.join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(dir.path());
        command.args(["-p", &port.to_string(), "-c", CONNECTIONS]);
        command.args(["-c", "shared_preload_libraries=pg_stat_statements"]);
        let process = command.stdin(Stdio::null()).stderr(log).spawn()?;
        let mut server = Self {
            process,
            port,
            runtime: Builder::new_current_thread().enable_all().build()?,
            connection: None,
            _dir: dir,
        };
        let url = server.url_of("postgres");
        let ends = Instant::now() + START;
        server.connection = loop {
            match server.runtime.block_on(PgConnection::connect(&url)) {
                Ok(connection) => break Some(connection),
                Err(error) if Instant::now() > ends || server.process.try_wait()?.is_some() => {
                    let log = fs::read_to_string(server._dir.path().join("log"));
                    return Err(format!("PostgreSQL: {error}\n{}", log.unwrap_or_default()).into());
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        };
        server.execute("CREATE DATABASE bench")?;
        server.execute("CREATE EXTENSION pg_stat_statements")?;
        pin::server(server.pid())?;
        Ok(server)
    }

    pub(super) fn url(&self) -> String {
        self.url_of("bench")
    }

    fn url_of(&self, database: &str) -> String {
        format!(
            "postgres://bench@127.0.0.1:{}/{database}?sslmode=disable",
            self.port
        )
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn stats(&mut self) -> Stats {
        let statements = self.number(
            "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements s \
             JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = 'bench'",
        );
        Stats::of_statements(statements, self.bytes())
    }

    pub(super) fn connections(&mut self) -> usize {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench'";
        self.number(sql) as usize
    }

    pub(super) fn version(&mut self) -> String {
        let (runtime, connection) = (&self.runtime, self.connection.as_mut());
        let row = connection.and_then(|connection| {
            let query = sqlx::query("SHOW server_version").fetch_one(connection);
            runtime.block_on(query).ok()
        });
        let version = row.and_then(|row| row.try_get::<String, _>(0).ok());
        let version = version.unwrap_or_default();
        version
            .split_whitespace()
            .next()
            .unwrap_or("unknown")
            .to_owned()
    }

    /// Returns the bytes of the open connections, in both directions.
    fn bytes(&self) -> Option<u64> {
        let output = Command::new("ss")
            .args(["-tinOH", "state", "established"])
            .arg(format!("( sport = :{} )", self.port))
            .output()
            .ok()?;
        Some(traffic(&String::from_utf8(output.stdout).ok()?))
    }

    fn number(&mut self, sql: &str) -> u64 {
        let (runtime, connection) = (&self.runtime, self.connection.as_mut());
        let number = connection.and_then(|connection| {
            let row = runtime.block_on(sqlx::query(sql).fetch_one(connection));
            row.ok()?.try_get::<i64, _>(0).ok()
        });
        number.unwrap_or(0).try_into().unwrap_or(0)
    }

    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        let connection = self.connection.as_mut().ok_or("no connection")?;
        self.runtime
            .block_on(sqlx::query(sql).execute(connection))
            .map_err(|error| format!("PostgreSQL: {sql}: {error}"))?;
        Ok(())
    }
}

/// Sums the bytes of the connections that `ss` lists.
fn traffic(list: &str) -> u64 {
    let bytes = |word: &str| {
        let number = ["bytes_sent:", "bytes_received:"]
            .iter()
            .find_map(|field| word.strip_prefix(field))?;
        number.parse::<u64>().ok()
    };
    list.split_whitespace().filter_map(bytes).sum()
}

impl Drop for Postgres {
    /// Ends the server with its connections.
    fn drop(&mut self) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT);
        }
        let _ = self.process.wait();
    }
}

/// The user that runs the server: PostgreSQL refuses to run as root.
struct User(Option<(u32, u32)>);

impl User {
    /// Makes `dir` belong to the user.
    fn unprivileged(dir: &Path) -> Result<Self, Failure> {
        if !geteuid().is_root() {
            return Ok(Self(None));
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let nobody = users.lines().find(|line| line.starts_with("nobody:"));
        let mut ids = nobody.ok_or("there is no user nobody")?.split(':').skip(2);
        let mut id = || ids.next().unwrap_or_default().parse::<u32>();
        let (user, group) = (id()?, id()?);
        chown(dir, Some(user), Some(group))?;
        debug_assert_eq!(fs::metadata(dir)?.uid(), user);
        Ok(Self(Some((user, group))))
    }

    /// Returns a command that runs `program` as this user, and ends with this process.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        if let Some((user, group)) = self.0 {
            command.arg(format!("--reuid={user}"));
            command.arg(format!("--regid={group}"));
            command.arg("--clear-groups");
        }
        command.args(["--pdeathsig", "INT"]).arg(program);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_connections_are_added() {
        let list = "0 0 127.0.0.1:5 127.0.0.1:6 cubic bytes_sent:100 bytes_acked:100 bytes_received:20 segs_out:1\n\
                    0 0 127.0.0.1:5 127.0.0.1:7 cubic bytes_sent:3 bytes_received:4\n";
        assert_eq!(traffic(list), 127);
    }
}
