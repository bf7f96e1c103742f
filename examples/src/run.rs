//! For the tests of the examples: runs a program as a user would, and sends it requests.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::iter;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Returns the program that cargo has built from an example, or from a binary of a package (`folder` is then empty).
///
/// # Panics
///
/// If it is not built.
#[must_use]
pub fn built(folder: &str, name: &str) -> PathBuf {
    let test = env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("…/deps/test");
    let program = target.join(folder).join(name);
    assert!(program.exists(), "{} is not built", program.display());
    program
}

/// Returns the command that runs `program` with this store, on a free port.
pub fn command(program: impl AsRef<OsStr>, url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("AUTO_MUTEX_URL", url)
        .env_remove("AUTO_MUTEX_NAMESPACE")
        .env("LISTEN", "127.0.0.1:0");
    command
}

/// A process whose output is read line by line. It is killed when dropped, and, on Linux, when this process ends in
/// another way: a client that a test has left behind would use the next server on its port.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts a program.
    ///
    /// # Panics
    ///
    /// If it doesn't start.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let mut child = until_the_end_of_this(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, lines }
    }

    /// Waits for a line that contains `text`, and returns the rest of that line.
    ///
    /// # Panics
    ///
    /// If the output ends without it.
    #[track_caller]
    pub fn line(&mut self, text: &str) -> String {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        let rest = lines.find_map(|line| Some(line.split_once(text)?.1.to_owned()));
        rest.unwrap_or_else(|| panic!("it did not say {text:?}"))
    }

    /// Waits for the next line; `None` at the end of the output.
    pub fn next_line(&mut self) -> Option<String> {
        self.lines.next()?.ok()
    }

    /// Waits for the address at which the program serves HTTP.
    #[track_caller]
    pub fn address(&mut self) -> String {
        self.line("listening on http://")
    }

    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        terminate(self.id());
    }

    /// Waits for the end; returns the rest of the output, too.
    ///
    /// # Panics
    ///
    /// If it doesn't end within a minute.
    #[track_caller]
    pub fn end(&mut self) -> (ExitStatus, String) {
        eventually("the process ends", || {
            self.child.try_wait().expect("a process").is_some()
        });
        let rest: Vec<_> = self.lines.by_ref().map_while(Result::ok).collect();
        (self.child.wait().expect("a process"), rest.join("\n"))
    }
}

fn until_the_end_of_this(command: &Command) -> Command {
    let mut words = iter::once(command.get_program()).chain(command.get_args());
    let mut guarded = match cfg!(target_os = "linux") {
        true => {
            let mut setpriv = Command::new("setpriv");
            setpriv.args(["--pdeathsig", "KILL", "--"]);
            setpriv
        }
        false => Command::new(words.next().unwrap_or_default()),
    };
    guarded.args(words);
    if let Some(folder) = command.get_current_dir() {
        guarded.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => guarded.env(name, value),
            None => guarded.env_remove(name),
        };
    }
    guarded
}

/// Starts a Redis server with a socket in `folder`; `None`, with a message, if this machine has no redis-server.
#[must_use]
pub fn redis(folder: &Path) -> Option<Running> {
    let version = Command::new("redis-server").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no redis-server on the PATH");
        return None;
    }
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--unixsocket"]);
    let server = Running::start(command.arg(folder.join("sock")));
    // The socket's file is there a moment before the server accepts connections.
    eventually("redis-server listens", || {
        UnixStream::connect(folder.join("sock")).is_ok()
    });
    Some(server)
}

/// The URL of that server.
#[must_use]
pub fn url(folder: &Path) -> String {
    format!("unix://{}", folder.join("sock").display())
}

/// Sends SIGTERM to a process.
///
/// # Panics
///
/// If there is none.
pub fn terminate(process: u32) {
    let kill = Command::new("kill")
        .args(["-TERM", &process.to_string()])
        .status();
    assert!(kill.is_ok_and(|status| status.success()), "it runs");
}

/// Sends a request; returns the status and the body of the response.
///
/// # Panics
///
/// If there is no response.
#[must_use]
pub fn ask(address: &str, method: &str, path: &str) -> (u16, String) {
    try_ask(address, method, path).expect("a response")
}

/// As [`ask`], of a program that may end meanwhile: `None` if there is no response.
#[must_use]
pub fn try_ask(address: &str, method: &str, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let status = reply.split(' ').nth(1)?;
    let body = reply.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Some((status.parse().ok()?, body.to_owned()))
}

/// Waits until `condition` is true.
///
/// # Panics
///
/// If it isn't after a minute.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}
