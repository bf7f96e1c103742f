//! [`Machine`]: where and how the figures were measured.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::options::Options;
use crate::server::Server;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    processor: String,
    processors: usize,
    kernel: String,
    redis: String,
    /// The commit of the working tree.
    commit: String,
    repetitions: usize,
    seconds: f64,
}

impl Machine {
    pub(crate) fn look(options: &Options) -> Result<Self, Failure> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let processor = model.and_then(|line| line.split_once(": "));
        Ok(Self {
            processor: processor.map_or("unknown", |(_, model)| model).to_owned(),
            processors: std::thread::available_parallelism()?.get(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .unwrap_or_default()
                .trim()
                .to_owned(),
            redis: Server::start()?.version(),
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
            repetitions: options.repetitions,
            seconds: options.seconds,
        })
    }
}

fn commit() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success()).then(|| text.trim().to_owned())
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            processor,
            processors,
            kernel,
            redis,
            commit,
            repetitions,
            seconds,
        } = self;
        write!(
            f,
            "{processors} × {processor}, Linux {kernel}, Redis {redis}; commit {commit}; \
             {repetitions} repetitions of {seconds} s"
        )
    }
}
