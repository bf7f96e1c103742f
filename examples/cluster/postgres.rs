//! A private PostgreSQL.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;

use crate::Failure;
use crate::server::Server;

pub(crate) const NAME: &str = "PostgreSQL";
/// The user that runs the server if this process is root, which PostgreSQL refuses.
const NOBODY: u32 = 65534;

pub(crate) fn start() -> Result<Server, Failure> {
    let initdb = initdb().ok_or(
        "PostgreSQL is not installed (Debian: postgresql; brew: postgresql@17), and AUTO_MUTEX_URL is not set",
    )?;
    let dir = tempfile::Builder::new().prefix("auto-mutex-").tempdir()?;
    if geteuid().is_root() {
        chown(dir.path(), Some(NOBODY), Some(NOBODY))?;
    }
    let data = dir.path().join("data");
    let mut init = command(&initdb);
    init.args(["-U", "show", "-A", "trust", "-E", "UTF8", "--locale=C"]);
    let made = init.arg("--no-sync").arg("-D").arg(&data).output()?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        return Err(format!("initdb: {}\n{said}", made.status).into());
    }
    let mut server = command(&initdb.with_file_name("postgres"));
    server.arg("-D").arg(data).arg("-k").arg(dir.path());
    for setting in [
        "listen_addresses=",
        "fsync=off",
        "logging_collector=on",
        "log_directory=..",
        "log_filename=log",
    ] {
        server.args(["-c", setting]);
    }
    let url = format!(
        "postgres:///postgres?user=show&host={}",
        dir.path().display()
    );
    let socket = dir.path().join(".s.PGSQL.5432");
    Server::run(&mut server, NAME, dir, socket, url)
}

/// The program that makes a database, beside which there is the server: that of the PATH, or the newest of Debian.
fn initdb() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<_> = versions.flatten().map(|it| it.path().join("bin")).collect();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    let mut programs = folders.iter().map(|folder| folder.join("initdb"));
    programs.find_map(|program| program.canonicalize().ok())
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}
