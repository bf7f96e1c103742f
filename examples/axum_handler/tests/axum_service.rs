//! Runs the example as Kubernetes would: calls its probes while Redis is down and while it is up, and sends SIGTERM while a
//! body runs. Uses a private Redis, if redis-server is installed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{Client, Config};

/// A process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a Redis server with a socket in `folder`.
fn redis(folder: &Path) -> Running {
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--unixsocket"]);
    command.arg(folder.join("sock")).stdout(Stdio::null());
    let server = Running(command.spawn().expect("it starts"));
    // The socket's file is there a moment before the server accepts connections.
    eventually("redis-server listens", || {
        UnixStream::connect(folder.join("sock")).is_ok()
    });
    server
}

fn url(folder: &Path) -> String {
    format!("unix://{}", folder.join("sock").display())
}

/// Starts the service; returns it with its output and the address on which it listens.
fn service(url: &str) -> (Running, BufReader<ChildStdout>, String) {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("…/deps/axum_service");
    let mut service = Command::new(target.join("examples/axum_service"))
        .env("AUTO_MUTEX_URL", url)
        .env_remove("AUTO_MUTEX_NAMESPACE")
        // The variables that Kubernetes' downward API would set.
        .env("POD_NAME", "books-x2x8q")
        .env("POD_NAMESPACE", "prod")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(service.stdout.take().expect("a pipe"));
    let service = Running(service);
    let listening = next(&mut said, "listening on http://");
    (service, said, listening)
}

/// Returns the rest of the next line that begins with `start`.
#[track_caller]
fn next(said: &mut BufReader<ChildStdout>, start: &str) -> String {
    let mut lines = said.lines().map_while(Result::ok);
    let line = lines.find_map(|line| line.strip_prefix(start).map(str::to_owned));
    line.unwrap_or_else(|| panic!("it did not say {start:?}"))
}

/// Sends a request; returns the status and the body of the response.
fn ask(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("a request");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    let status = reply.split(' ').nth(1).expect("a status");
    let body = reply.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.parse().expect("a number"), body.to_owned())
}

fn terminate(process: &Running) {
    let pid = rustix::process::Pid::from_child(&process.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
}

fn has_redis() -> bool {
    let version = Command::new("redis-server").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

#[test]
fn a_service_starts_without_redis_answers_probes_and_ends_in_good_order() {
    if !has_redis() {
        eprintln!("skipped: no redis-server on the PATH");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut process, mut said, address) = service(&url(folder.path()));
    assert_eq!(ask(&address, "/healthz").0, 200);
    let (status, text) = ask(&address, "/readyz");
    assert_eq!(status, 503, "{text}");
    assert!(text.starts_with("not ready; not connected"), "{text}");

    let _redis = redis(folder.path());
    eventually("it is ready", || ask(&address, "/readyz").0 == 200);
    assert_eq!(
        ask(&address, "/close/1/0"),
        (200, "month 1 is closed".to_owned())
    );

    // One body runs, and another client waits for its lock.
    let body = thread::spawn({
        let address = address.clone();
        move || ask(&address, "/close/5/4000")
    });
    next(&mut said, "closing month 5");
    let config = Config::new(url(folder.path())).expect("a URL");
    let other = Client::connect(config).expect("it is there");
    let mutex = other.mutex("auto-mutex-example-axum:crate:close:5");
    let info = mutex.blocking_info().expect("an answer");
    let pod = info.holder().and_then(|holder| holder.pod.as_deref());
    assert_eq!(pod, Some("prod/books-x2x8q"), "{info:?}");
    let next_one = thread::spawn(move || mutex.blocking_lock());
    terminate(&process);

    // The body ends, its request is answered, its lock passes to the other client at once, and the process ends successfully.
    let (status, text) = body.join().expect("no panic");
    assert_eq!((status, &*text), (200, "month 5 is closed"));
    let guard = next_one.join().expect("no panic").expect("the lock");
    drop(guard);
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("UTF-8");
    assert_eq!(rest, "every lock was released\n");
    let status = process.0.wait().expect("it ends");
    assert!(status.success(), "{status}");
}
