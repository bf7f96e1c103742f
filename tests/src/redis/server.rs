//! The server process, and a guardian that ends it when the test process ends, even if the test process is killed.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Options;
use crate::databases::Process;
use crate::events::PATIENCE;

pub(super) struct Server {
    process: Process,
    ended: JoinHandle<()>,
}

impl Server {
    /// Starts the server. Returns `None` if the server ends at once, because its port is taken.
    ///
    /// `AUTO_MUTEX_REDIS_SERVER` names another program than `redis-server`: see `tests/servers`.
    pub(super) fn start(dir: &Path, options: &Options) -> Option<Self> {
        // A socket left behind by a killed server would look like a running one.
        let _ = std::fs::remove_file(dir.join("sock"));
        let mut command = Command::new("env");
        if let Some(clock) = options.its_clock() {
            command.arg(variable("LD_PRELOAD", &clock.library()));
            command.arg(variable("AUTO_MUTEX_CLOCK", &clock.state()));
        }
        let program = std::env::var_os("AUTO_MUTEX_REDIS_SERVER").filter(|it| !it.is_empty());
        command.arg(program.unwrap_or_else(|| "redis-server".into()));
        command.arg(dir.join("redis.conf"));
        command.args(options.is_sentinel().then_some("--sentinel"));
        let (process, ended) = Process::start(&command, "KILL", dir).expect("sh");
        let server = Self { process, ended };
        server.comes_up(dir).then_some(server)
    }

    /// Waits until the server's unix socket appears, which is after the port is bound. Returns false if the server
    /// ended.
    fn comes_up(&self, dir: &Path) -> bool {
        let started = Instant::now();
        while started.elapsed() < PATIENCE && !self.has_ended() {
            if dir.join("sock").exists() {
                return true;
            }
            thread::sleep(Duration::from_millis(2));
        }
        false
    }

    /// Whether the server ended by itself: the second port of a cluster's node, which it binds last, was taken.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_finished()
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid
    }
}

/// An argument of `env`, by which the server has its own clock.
fn variable(name: &str, value: &Path) -> OsString {
    let mut argument = OsString::from(format!("{name}="));
    argument.push(value);
    argument
}
