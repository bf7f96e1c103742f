//! A wall clock for one server, which a test can step while the server runs. It consists of a few lines of C, compiled
//! on demand and loaded into the server before libc. It needs Linux and a C compiler.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use tempfile::TempDir;

const SOURCE: &str = include_str!("step.c");

/// The clock of one server: see [`Options::clock`](crate::redis::Options::clock).
#[derive(Debug)]
pub struct Clock {
    dir: TempDir,
    file: File,
    /// How far the clock is ahead of the machine's clock, in microseconds.
    ahead: Mutex<i64>,
}

impl Clock {
    /// Makes a clock that shows the machine's time. Returns why this machine cannot have one, if so.
    pub fn new() -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("the clock of a process can be stepped on Linux only".to_owned());
        }
        let dir = tempfile::Builder::new().prefix("am-clock-").tempdir();
        let dir = dir.expect("a temporary directory");
        let source = dir.path().join("step.c");
        std::fs::write(&source, SOURCE).expect("the source is written");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compiled = Command::new(compiler)
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .args([dir.path().join("step.so"), source])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("no C compiler: {error}"))?;
        if !compiled.status.success() {
            return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
        }
        let file = File::create(dir.path().join("ahead")).expect("a file");
        let clock = Self {
            dir,
            file,
            ahead: Mutex::new(0),
        };
        clock.step(0);
        Ok(clock)
    }

    /// Steps the clock forward at once.
    pub fn forward(&self, by: Duration) {
        self.step(by.as_micros() as i64);
    }

    /// Steps the clock back at once.
    pub fn back(&self, by: Duration) {
        self.step(-(by.as_micros() as i64));
    }

    fn step(&self, micros: i64) {
        let mut ahead = self.ahead.lock().expect("no panic");
        *ahead += micros;
        let written = self.file.write_all_at(&ahead.to_ne_bytes(), 0);
        written.expect("the step is written");
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.dir.path().join("step.so")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("ahead")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Clock;
    use crate::redis::{Options, Redis};

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_server_goes_by_it_and_its_scripts_too() {
        let clock = match Clock::new() {
            Ok(clock) => Arc::new(clock),
            Err(why) => return println!("skipped: {why}"),
        };
        let (stepped, other) = (
            Redis::with(Options::default().clock(&clock)),
            Redis::start(),
        );
        let ahead = || {
            const NOW: &[&str] = &["EVAL", "return redis.call('TIME')[1]", "0"];
            stepped.command(NOW).int() - other.command(NOW).int()
        };
        assert!(ahead().abs() <= 2);
        clock.forward(HOUR);
        assert!((ahead() - 3600).abs() <= 2, "{}", ahead());
        stepped.command(&["SET", "a", "1", "PX", "60000"]);
        clock.back(2 * HOUR);
        assert!((ahead() + 3600).abs() <= 2, "{}", ahead());
        assert!(stepped.command(&["PTTL", "a"]).int() > 7_000_000);
        clock.forward(3 * HOUR);
        assert_eq!(stepped.command(&["EXISTS", "a"]).int(), 0);
    }
}
