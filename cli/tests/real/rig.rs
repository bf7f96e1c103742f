//! The rig of these tests: a server, the command, and other processes that take locks.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};

use auto_mutex::operator::Operator;
use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::redis::Redis;
use serde_json::Value;

/// The command for this store, without environment variables that could change its output.
pub(crate) fn command(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_auto-mutex"));
    command
        .args(args)
        .env("AUTO_MUTEX_URL", url)
        .env_remove("AUTO_MUTEX_NAMESPACE")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

/// Runs the command, and returns its output and its exit status.
pub(crate) fn output(url: &str, args: &[&str]) -> Output {
    let output = command(url, args).output();
    output.expect("auto-mutex runs")
}

/// Runs the command, checks its exit code, and returns its standard output.
#[track_caller]
pub(crate) fn written(url: &str, args: &[&str], code: i32) -> String {
    // A slow machine is no failure.
    let patient = ["--timeout", "60s"];
    let is_patient = code == 0 && !args.contains(&"--timeout");
    let all = patient.iter().filter(|_| is_patient).chain(args);
    let output = output(url, &all.copied().collect::<Vec<_>>());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
    out
}

/// Like [`written`], but returns the output as a JSON document.
#[track_caller]
pub(crate) fn document(url: &str, args: &[&str], code: i32) -> Value {
    let args: Vec<_> = args.iter().copied().chain(["-o", "json"]).collect();
    let out = written(url, &args, code);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A client whose lease is longer than any test.
pub(crate) fn client(url: &str) -> Client {
    let config = Config::new(url).expect("a good URL");
    let config = config.lease(LONG).connect_timeout("60s");
    Client::connect(config.restart_guard(false)).expect("a client")
}

/// Starts another server with the same keys.
#[track_caller]
pub(crate) fn copy(redis: &Redis) -> Redis {
    let copy = Redis::start();
    let port = copy.port().to_string();
    for key in redis.keys() {
        let name = key.name.as_str();
        redis.command(&["MIGRATE", "127.0.0.1", &port, name, "0", "5000", "COPY"]);
    }
    copy
}

/// Waits until the lock has `count` waiters.
#[track_caller]
pub(crate) fn are_waiting(url: &str, name: &str, count: usize) {
    let operator = Operator::connect(url).expect("an operator");
    eventually("all of them wait", || {
        let lock = operator.inspect(&[name]).expect("an answer").remove(0);
        lock.expect("a lock").waiters.len() == count
    });
}

/// Waits until a lock is held.
#[track_caller]
pub(crate) fn is_held(url: &str, name: &str) {
    let operator = Operator::connect(url).expect("an operator");
    eventually("it is held", || {
        let lock = operator.inspect(&[name]).expect("an answer").remove(0);
        !lock.expect("a lock").holders.is_empty()
    });
}

/// Another process, which holds one lock and waits for further ones on request until this value is dropped. It runs
/// this test program again: see [`other_process`].
pub(crate) struct Other(Child);

impl Other {
    /// Starts a process, and returns when it holds the lock `held`.
    #[track_caller]
    pub(crate) fn start(url: &str, held: &str) -> Self {
        Self::spawn(url, held, "", "yes")
    }

    /// Like [`start`](Self::start), but in a pod of this name.
    #[track_caller]
    pub(crate) fn in_pod(url: &str, held: &str, pod: &str) -> Self {
        Self::spawn(url, held, pod, "yes")
    }

    /// Like [`start`](Self::start), but with guards that belong to no known task.
    #[track_caller]
    pub(crate) fn by_hand(url: &str, held: &str) -> Self {
        Self::spawn(url, held, "", "no")
    }

    #[track_caller]
    fn spawn(url: &str, held: &str, pod: &str, reentrant: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let child = Command::new(program)
            .args(["--exact", "rig::other_process", "--ignored", "--nocapture"])
            .env("POD_NAME", pod)
            .env("POD_NAMESPACE", "")
            .env("CLI_TEST_URL", url)
            .env("CLI_TEST_LOCK", held)
            .env("CLI_TEST_REENTRANT", reentrant)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("the test program starts");
        let out = BufReader::new(child.stdout.take().expect("a piped stdout"));
        let mut lines = out.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with("holds")), "it holds {held}");
        std::thread::spawn(move || lines.for_each(drop));
        Self(child)
    }

    /// Makes the process wait for another lock too.
    #[track_caller]
    pub(crate) fn wants(&mut self, name: &str) {
        let stdin = self.0.stdin.as_mut().expect("a piped stdin");
        writeln!(stdin, "{name}").expect("it reads");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test, but the main function of the other process.
#[test]
#[ignore = "started by tests, as another process"]
fn other_process() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("CLI_TEST_URL").is_empty() {
        return;
    }
    let client = client(&variable("CLI_TEST_URL"));
    let reentrant = variable("CLI_TEST_REENTRANT") == "yes";
    let take = |name| match reentrant {
        true => client.mutex(name).reentrant().blocking_lock(),
        false => client.mutex(name).blocking_lock(),
    };
    let _guard = take(variable("CLI_TEST_LOCK")).expect("the lock");
    println!("\nholds");
    std::io::stdout().flush().expect("a reader");
    let mut held = Vec::new();
    for name in std::io::stdin().lines().map_while(Result::ok) {
        held.push(take(name));
    }
}

/// A server with some locks: `orders:7` is held and has two waiters, a permit of `pool` is held, and `book` has a
/// reader.
pub(crate) struct Shop {
    pub(crate) redis: Redis,
    pub(crate) url: String,
    _held: Vec<Box<dyn std::any::Any + Send>>,
    waiting: Vec<std::thread::JoinHandle<()>>,
    clients: Vec<Client>,
}

impl Shop {
    pub(crate) fn open() -> Self {
        Self::on(Redis::start())
    }

    pub(crate) fn on(redis: Redis) -> Self {
        let url = redis.url();
        let client = client(&url);
        let mutex = client.mutex("orders:7").blocking_lock().expect("a lock");
        let permit = client.semaphore("pool", 3).blocking_acquire();
        let reader = client.rw_lock("book").blocking_read();
        let held: Vec<Box<dyn std::any::Any + Send>> = vec![
            Box::new(mutex),
            Box::new(permit.expect("a permit")),
            Box::new(reader.expect("a reader")),
        ];
        let (mut waiting, mut clients) = (Vec::new(), vec![client]);
        for count in 1..=2 {
            let other = self::client(&url);
            clients.push(other.clone());
            waiting.push(std::thread::spawn(move || {
                // Waits for the lock, or until the client is shut down. A granted guard is never dropped, so the hold
                // stays.
                std::mem::forget(other.mutex("orders:7").blocking_lock());
            }));
            are_waiting(&url, "orders:7", count);
        }
        Self {
            redis,
            url,
            _held: held,
            waiting,
            clients,
        }
    }

    /// The token of the first hold of a lock.
    pub(crate) fn token(&self, name: &str) -> u64 {
        let shown = document(&self.url, &["show", name], 0);
        let token = shown["holders"][0]["token"].as_str().expect("a token");
        token.parse().expect("a number")
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        for client in &self.clients {
            client.blocking_shutdown();
        }
        for waiting in self.waiting.drain(..) {
            let _ = waiting.join();
        }
    }
}
