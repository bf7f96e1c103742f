//! Libraries of other languages. Programs in `benches/external` use them, and get the same job as the workers. They are
//! measured if their interpreter and packages are installed: see `benches/README.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Contender;

/// The folder where npm installed the packages.
const NODE_MODULES: &str = "target/bench-peers/node_modules";
/// The Python of the virtual environment with the packages.
const PYTHON: &str = "target/bench-peers/python/bin/python";

/// Returns the interpreter, the program, and the package that must be installed.
pub(crate) fn program(contender: Contender) -> Option<(PathBuf, PathBuf, &'static str)> {
    let node = |package| (PathBuf::from("node"), script("node.cjs"), package);
    let python = |package| (root().join(PYTHON), script("python.py"), package);
    match contender {
        Contender::NodeRedisSemaphore => Some(node("redis-semaphore")),
        Contender::NodeRedlock => Some(node("redlock")),
        Contender::PythonRedis => Some(python("redis")),
        Contender::PythonRedisLock => Some(python("redis_lock")),
        _ => None,
    }
}

/// Returns the environment variable with which Node finds the packages.
pub(crate) fn environment() -> (&'static str, PathBuf) {
    ("NODE_PATH", root().join(NODE_MODULES))
}

/// If the interpreter cannot load the package of `contender`, returns a text that names the package.
pub(crate) fn missing(contender: Contender) -> Option<String> {
    let (interpreter, _, package) = program(contender)?;
    let probe = if interpreter.as_os_str() == "node" {
        ["-e".to_owned(), format!("require('{package}')")]
    } else {
        ["-c".to_owned(), format!("import {package}")]
    };
    let (variable, modules) = environment();
    let found = Command::new(&interpreter)
        .args(probe)
        .env(variable, modules)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    (!found).then(|| format!("{package} is not installed (see benches/README.md)"))
}

/// Returns the names and versions of the installed packages.
pub(crate) fn versions() -> Vec<(String, String)> {
    let mut versions = Vec::new();
    for package in ["redis-semaphore", "redlock"] {
        let manifest = root().join(NODE_MODULES).join(package).join("package.json");
        let text = fs::read(manifest).unwrap_or_default();
        let manifest = serde_json::from_slice::<serde_json::Value>(&text).ok();
        let version = manifest.and_then(|it| Some(it.get("version")?.as_str()?.to_owned()));
        versions.extend(version.map(|version| (package.to_owned(), version)));
    }
    for (name, package) in [
        ("redis-py", "redis"),
        ("python-redis-lock", "python-redis-lock"),
    ] {
        let code = format!("from importlib.metadata import version; print(version('{package}'))");
        let output = Command::new(root().join(PYTHON))
            .args(["-c", &code])
            .output();
        let version = output.ok().filter(|output| output.status.success());
        let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
        versions.extend(version.map(|it| (name.to_owned(), it.trim().to_owned())));
    }
    versions
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("external")
        .join(name)
}

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
