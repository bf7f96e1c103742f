//! A private server: its socket is in a temporary folder, it keeps no data, and it ends with the program. `start`
//! starts a redis-server.

use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::Failure;

/// The longest time that a server may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends the server when its input closes. The system closes the input however this process ends.
const GUARDIAN: &str = r#"read -r _; kill -INT "$1""#;

/// A running server.
pub(crate) struct Server {
    server: Child,
    guardian: Option<Child>,
    dir: TempDir,
    program: &'static str,
    socket: PathBuf,
    url: String,
}

impl Server {
    /// `None` if there is no redis-server on the PATH.
    pub(crate) fn start() -> Result<Option<Self>, Failure> {
        if !is_installed() {
            return Ok(None);
        }
        let dir = tempfile::Builder::new().prefix("auto-mutex-").tempdir()?;
        write_configuration(dir.path())?;
        let mut command = Command::new("redis-server");
        command.arg(dir.path().join("redis.conf"));
        let socket = dir.path().join("redis.sock");
        let url = format!("unix://{}", socket.display());
        Self::run(&mut command, "redis-server", dir, socket, url).map(Some)
    }

    /// Starts a server in this folder. SIGINT ends it, and its log is in the file `log`.
    pub(crate) fn run(
        command: &mut Command,
        program: &'static str,
        dir: TempDir,
        socket: PathBuf,
        url: String,
    ) -> Result<Self, Failure> {
        let server = silent(command).spawn()?;
        let mut running = Self {
            server,
            guardian: None,
            dir,
            program,
            socket,
            url,
        };
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARDIAN, "sh", &running.server.id().to_string()]);
        let guardian = silent(&mut guardian).stdin(Stdio::piped()).spawn()?;
        running.guardian = Some(guardian);
        running.wait_until_up()?;
        Ok(running)
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    fn wait_until_up(&mut self) -> Result<(), Failure> {
        let started = Instant::now();
        // The socket's file is there a moment before the server accepts connections.
        let program = self.program;
        while UnixStream::connect(&self.socket).is_err() {
            if let Some(status) = self.server.try_wait()? {
                let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                return Err(format!("{program} does not start: {status}\n{log}").into());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("{program} does not start in time").into());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The guardian ends first: otherwise it could signal a process id that is no longer the server's.
        if let Some(guardian) = &mut self.guardian {
            let _ = guardian.kill();
            let _ = guardian.wait();
        }
        let _ = kill_process(Pid::from_child(&self.server), Signal::INT);
        let _ = self.server.wait();
    }
}

/// Without input and output, and out of reach for Ctrl-C: that must reach only the show, which ends the server last.
fn silent(command: &mut Command) -> &mut Command {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).process_group(0)
}

fn is_installed() -> bool {
    let version = Command::new("redis-server")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

fn write_configuration(dir: &Path) -> io::Result<()> {
    let conf = format!(
        "port 0\nunixsocket {0}/redis.sock\ndir {0}\nsave \"\"\nappendonly no\ndaemonize no\n\
         logfile {0}/log\n",
        dir.display()
    );
    std::fs::write(dir.join("redis.conf"), conf)
}
