//! A private redis-server: its socket is in a temporary folder, it saves no data, and it ends with the program.

use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Failure;

/// The longest time that a server may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Kills the server when its input closes. The system closes the input however this process ends.
const GUARDIAN: &str = r#"read -r _; kill "$1""#;

/// A running server.
pub(crate) struct Server {
    server: Child,
    guardian: Option<Child>,
    dir: TempDir,
}

impl Server {
    /// `None` if there is no redis-server on the PATH.
    pub(crate) fn start() -> Result<Option<Self>, Failure> {
        if !is_installed() {
            return Ok(None);
        }
        let dir = tempfile::Builder::new().prefix("auto-mutex-").tempdir()?;
        write_configuration(dir.path())?;
        let server = Command::new("redis-server")
            .arg(dir.path().join("redis.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C must reach only the show, which ends the server last.
            .process_group(0)
            .spawn()?;
        let mut running = Self {
            server,
            guardian: None,
            dir,
        };
        let guardian = Command::new("sh")
            .args(["-c", GUARDIAN, "sh", &running.server.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        running.guardian = Some(guardian);
        running.wait_until_up()?;
        Ok(Some(running))
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("redis.sock")
    }

    fn wait_until_up(&mut self) -> Result<(), Failure> {
        let started = Instant::now();
        // The socket's file is there a moment before the server accepts connections.
        while UnixStream::connect(self.socket()).is_err() {
            if let Some(status) = self.server.try_wait()? {
                let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                return Err(format!("redis-server does not start: {status}\n{log}").into());
            }
            if started.elapsed() > PATIENCE {
                return Err("redis-server does not start in time".into());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The guardian ends first: otherwise it could signal a process id that is no longer the server's.
        for child in self.guardian.iter_mut().chain([&mut self.server]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
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
