//! pgbouncer, in transaction mode.

use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use super::Postgres;
use crate::databases::{self, Process, User};
use crate::events::{PATIENCE, eventually, happens_within};
use crate::redis::ports::Port;

/// If pgbouncer is not installed on this machine, says so.
#[must_use]
pub fn missing_pooler() -> Option<String> {
    let missing = databases::program("pgbouncer").is_none();
    missing.then(|| "pgbouncer is not installed (Debian: pgbouncer)".to_owned())
}

/// A pooler, killed when dropped.
pub struct Pooler {
    process: Mutex<Option<Process>>,
    port: Port,
    user: User,
    dir: TempDir,
}

impl Pooler {
    /// Starts a pooler in front of a server.
    ///
    /// # Errors
    ///
    /// If it is not installed, says so.
    pub fn before(server: &Postgres) -> Result<Self, String> {
        if let Some(missing) = missing_pooler() {
            return Err(missing);
        }
        let (dir, user) = databases::folder()?;
        let pooler = Self {
            process: Mutex::new(None),
            port: Port::new(),
            user,
            dir,
        };
        let (port, to) = (pooler.port(), server.port());
        let users = pooler.dir.path().join("users");
        std::fs::write(&users, "\"test\" \"\"\n").map_err(databases::text)?;
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={to}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = transaction\nserver_login_retry = 0.2\n",
            users.display(),
        );
        let file = pooler.dir.path().join("pgbouncer.ini");
        std::fs::write(file, text).map_err(databases::text)?;
        pooler.start_again();
        Ok(pooler)
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Kills the pooler, and with it all connections through it.
    pub fn kill9(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        drop(process.take());
    }

    /// Starts the pooler again, on the same port.
    #[track_caller]
    pub fn start_again(&self) {
        let program = databases::program("pgbouncer").expect("it was started before");
        let mut command = self.user.command(&program);
        command.arg("-q").arg(self.dir.path().join("pgbouncer.ini"));
        let mut running = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        eventually("pgbouncer starts", || {
            let started = Process::start(&command, "KILL", self.dir.path());
            let (process, ended) = started.expect("a shell");
            let is_up = || TcpStream::connect(("127.0.0.1", self.port())).is_ok();
            let up = happens_within(PATIENCE, || is_up() || ended.is_finished());
            *running = (up && !ended.is_finished()).then_some(process);
            running.is_some()
        });
    }
}
