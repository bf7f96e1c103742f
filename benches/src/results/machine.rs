//! [`Machine`]: where and how the figures were measured.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::options::Options;
use crate::peer::{Contender, external};
use crate::server::Server;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) kernel: String,
    pub(crate) redis: String,
    /// Empty if it is not installed.
    pub(crate) postgres: String,
    pub(crate) rust: String,
    /// The versions of the measured libraries, by their names.
    pub(crate) libraries: BTreeMap<String, String>,
    /// The commit of the working tree.
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) repetitions: usize,
    pub(crate) seconds: f64,
}

impl Machine {
    /// Whether figures of both machines belong on one page.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let same = |it: &Self| (it.processor.clone(), it.processors, it.redis.clone());
        same(self) == same(other)
    }

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
            postgres: match Contender::PgAdvisoryLock.missing() {
                None => Server::of(Contender::PgAdvisoryLock)?.version(),
                Some(_) => String::new(),
            },
            rust: output("rustc", &["--version"])
                .and_then(|text| Some(text.split_whitespace().nth(1)?.to_owned()))
                .unwrap_or_default(),
            libraries: libraries(),
            commit: output("git", &["describe", "--always", "--dirty"])
                .unwrap_or_else(|| "unknown".to_owned()),
            date: output("date", &["-u", "+%Y-%m-%d"]).unwrap_or_default(),
            repetitions: options.repetitions,
            seconds: options.seconds,
        })
    }
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success()).then(|| text.trim().to_owned())
}

/// Returns the versions of the crates from the lock file, and of the installed packages of other languages.
fn libraries() -> BTreeMap<String, String> {
    let lock = include_str!("../../../Cargo.lock");
    let mut versions = BTreeMap::new();
    for name in ["auto-mutex", "rslock", "distkit", "sqlx", "redis"] {
        let package = lock.split("[[package]]").find_map(|package| {
            package
                .trim()
                .strip_prefix(&format!("name = \"{name}\"\nversion = \""))
        });
        if let Some(version) = package.and_then(|rest| rest.split('"').next()) {
            versions.insert(name.to_owned(), version.to_owned());
        }
    }
    versions.extend(external::versions());
    versions
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
            ..
        } = self;
        write!(
            f,
            "{processors} × {processor}, Linux {kernel}, Redis {redis}; commit {commit}; \
             {repetitions} repetitions of {seconds} s"
        )
    }
}
