//! The server process, and a guardian that ends it when the test process ends, even if the test process is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Options;
use crate::events::PATIENCE;
use crate::process;

/// A shell script that starts the server, prints its process id, and reads its own input, which closes when the test
/// process ends, even if it is killed. Then the script kills the server, waits for its end, and removes its directory,
/// unless the input says to keep it. After the first line, only the server has the output open.
/// `AUTO_MUTEX_REDIS_SERVER` names another program than `redis-server`: see `tests/servers`.
const GUARDIAN: &str = r#"LD_PRELOAD=$AUTO_MUTEX_PRELOAD "${AUTO_MUTEX_REDIS_SERVER:-redis-server}" "$@" & echo $!; exec >&-; read -r keep; kill -9 $! 2>/dev/null; wait; [ -n "$keep" ] || rm -rf "${1%/*}""#;

pub(super) struct Server {
    guardian: Child,
    pid: u32,
    ended: Arc<AtomicBool>,
}

impl Server {
    /// Starts the server. Returns `None` if the server ends at once, because its port is taken.
    pub(super) fn start(dir: &Path, options: &Options) -> Option<Self> {
        // A socket left behind by a killed server would look like a running one.
        let _ = std::fs::remove_file(dir.join("sock"));
        let mut guardian = Command::new("sh")
            .args(["-c", GUARDIAN, "sh"])
            .arg(dir.join("redis.conf"))
            .args(options.is_sentinel().then_some("--sentinel"))
            .envs(preloaded(options))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let mut line = String::new();
        let mut stdout = BufReader::new(guardian.stdout.take().expect("a piped stdout"));
        stdout
            .read_line(&mut line)
            .expect("the guardian tells the process id");
        let pid = line.trim().parse().expect("a process id");
        let ended = Arc::new(AtomicBool::new(false));
        thread::spawn({
            let ended = ended.clone();
            move || {
                let _ = stdout.read_to_end(&mut Vec::new());
                ended.store(true, Ordering::Release);
            }
        });
        let server = Self {
            guardian,
            pid,
            ended,
        };
        server.comes_up(dir).then_some(server)
    }

    /// Waits until the server's unix socket appears, which is after the port is bound. Returns false if the server ended.
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
        self.ended.load(Ordering::Acquire)
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }
}

/// The environment variables that load the server's own clock, if it has one.
fn preloaded(options: &Options) -> Vec<(&'static str, PathBuf)> {
    let clock = options.its_clock();
    clock.map_or_else(Vec::new, |clock| {
        vec![
            ("AUTO_MUTEX_PRELOAD", clock.library()),
            ("AUTO_MUTEX_CLOCK", clock.state()),
        ]
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        process::kill9(self.pid);
        if let Some(mut guardian) = self.guardian.stdin.take() {
            let _ = guardian.write_all(b"keep\n");
        }
        let _ = self.guardian.wait();
    }
}
