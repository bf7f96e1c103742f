//! Tests of what `run` does when it gets a signal, or when a part of it, its lease or its store stops: its command
//! never runs without the lock.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use auto_mutex_tests::events::eventually;
use auto_mutex_tests::process;
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Redis;
use rustix::process::{Pid, Signal, kill_process};

use super::rig::{are_waiting, command, document, output, text};

/// `auto-mutex run`, whose command runs.
struct Running {
    runner: Child,
    /// The command reads from it.
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
    /// The process id of the command.
    command: u32,
}

/// Ends when its input ends.
const READS: &str = "read x; exit 5";

/// Ends by nothing but SIGKILL.
const STAYS: &str = "trap '' TERM; while :; do sleep 0.01; done";

impl Running {
    fn start(url: &str, options: &[&str], script: &str) -> Self {
        Self::by(command(url, &["run", "cron"]), options, script)
    }

    fn by(mut runner: Command, options: &[&str], script: &str) -> Self {
        let script = format!("echo $$; {script}");
        let runner = runner
            .args(options)
            .args(["--", "sh", "-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut runner = runner.unwrap();
        let mut running = Self {
            stdin: runner.stdin.take(),
            out: BufReader::new(runner.stdout.take().unwrap()),
            runner,
            command: 0,
        };
        running.command = running.line().parse().unwrap();
        running
    }

    /// The next line of the command.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn signal(&self, signal: Signal) {
        send(self.runner.id(), signal);
    }

    fn code(mut self) -> Option<i32> {
        drop(self.stdin);
        self.runner.wait().unwrap().code()
    }
}

/// The process that renews the lease.
fn holder(url: &str) -> u32 {
    let shown = document(url, &["show", "cron"], 0);
    let pid = shown["holders"][0]["pid"].as_u64().unwrap();
    pid.try_into().unwrap()
}

fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap(), signal).unwrap();
}

/// The state of a process that has not ended, such as `T` if it is stopped.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.chars().next().filter(|state| !"ZX".contains(*state))
}

/// Another `run`, which waits for the lock, and says whether that process still runs when the lock is granted.
fn next(url: &str, first: u32) -> Child {
    let script =
        "grep -q ') [^ZX] ' /proc/$0/stat 2>/dev/null && echo both run || echo it runs alone";
    let mut next = command(url, &["run", "cron", "--", "sh", "-c", script]);
    let next = next.arg(first.to_string()).stdout(Stdio::piped()).spawn();
    next.unwrap()
}

#[track_caller]
fn runs_alone(next: Child) {
    let output = next.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "it runs alone\n", "{output:?}");
}

#[test]
fn the_command_gets_every_signal_that_would_end_the_runner() {
    let redis = Redis::start();
    let script = "for s in INT TERM HUP QUIT USR1; do trap \"echo $s\" $s; done; trap 'exit 9' USR2; \
        echo up; while :; do sleep 0.01; done";
    let mut running = Running::start(&redis.url(), &[], script);
    assert_eq!(running.line(), "up");
    let signals = [
        ("INT", Signal::INT),
        ("TERM", Signal::TERM),
        ("HUP", Signal::HUP),
        ("QUIT", Signal::QUIT),
        ("USR1", Signal::USR1),
    ];
    for (name, signal) in signals {
        running.signal(signal);
        assert_eq!(running.line(), name);
    }
    running.signal(Signal::USR2);
    assert_eq!(running.code(), Some(9));
}

#[test]
fn a_signal_that_the_runner_was_started_to_ignore_stays_ignored() {
    let redis = Redis::start();
    let mut nohup = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_auto-mutex");
    nohup
        .args(["-c", "trap '' HUP; exec \"$0\" run cron \"$@\"", program])
        .env("AUTO_MUTEX_URL", redis.url());
    let script = "trap 'echo USR1; exit 5' USR1; echo up; while :; do sleep 0.01; done";
    let mut running = Running::by(nohup, &[], script);
    assert_eq!(running.line(), "up");
    running.signal(Signal::HUP);
    running.signal(Signal::USR1);
    assert_eq!(running.line(), "USR1");
    assert_eq!(running.code(), Some(5));
}

#[test]
fn ctrl_z_stops_the_command_and_keeps_the_lease() {
    let _watch = real_time();
    let redis = Redis::start();
    let url = redis.url();
    let running = Running::start(&url, &["--lease", "3s"], READS);
    running.signal(Signal::TSTP);
    let (runner, command) = (running.runner.id(), running.command);
    eventually("both are stopped", || {
        [runner, command].map(state) == [Some('T'); 2]
    });
    // Longer than the lease.
    let second = output(&url, &["run", "cron", "--block", "4s", "--", "true"]);
    assert_eq!(second.status.code(), Some(75), "{second:?}");
    running.signal(Signal::CONT);
    assert_eq!(running.code(), Some(5));
}

#[test]
fn a_killed_runner_leaves_no_command_without_the_lock() {
    let redis = Redis::start();
    let url = redis.url();
    let mut running = Running::start(&url, &["--lease", "30s", "--grace", "100ms"], STAYS);
    let next = next(&url, running.command);
    are_waiting(&url, "cron", 1);
    process::kill9(running.runner.id());
    runs_alone(next);
    running.runner.wait().unwrap();
}

#[test]
fn a_command_whose_lease_nobody_renews_is_killed() {
    let redis = Redis::start();
    let url = redis.url();
    let running = Running::start(&url, &["--lease", "30s"], STAYS);
    process::kill9(holder(&url));
    let command = running.command;
    assert_eq!(running.code(), Some(79));
    assert_eq!(state(command), None);
}

#[test]
fn a_holder_that_stands_still_leaves_no_command_without_the_lock() {
    let _watch = real_time();
    let redis = Redis::start();
    let url = redis.url();
    let running = Running::start(&url, &["--lease", "6s"], STAYS);
    let next = next(&url, running.command);
    are_waiting(&url, "cron", 1);
    process::stop(holder(&url));
    runs_alone(next);
    assert_eq!(running.code(), Some(79));
}

#[test]
fn the_command_has_ended_before_its_lease_ends() {
    let _watch = real_time();
    let redis = Redis::start();
    let (url, proxy) = (redis.url(), Proxy::start(redis.port()));
    let running = Running::start(&redis.url_at(proxy.port()), &["--lease", "6s"], STAYS);
    let next_one = next(&url, running.command);
    are_waiting(&url, "cron", 1);
    proxy.freeze();
    runs_alone(next_one);
    assert_eq!(running.code(), Some(79));

    let running = Running::start(&url, &["--expire", "5s"], STAYS);
    let next_one = next(&url, running.command);
    runs_alone(next_one);
    assert_eq!(running.code(), Some(79));
}

#[test]
fn the_lock_is_held_until_all_that_the_command_has_started_has_ended() {
    let redis = Redis::start();
    let url = redis.url();
    let script = "exec 3<&0; (read x <&3) & exit 3";
    let running = Running::start(&url, &["--lease", "30s"], script);
    eventually("the command has ended", || state(running.command).is_none());
    let second = ["run", "cron", "--block", "0", "--", "true"];
    assert_eq!(output(&url, &second).status.code(), Some(75));
    assert_eq!(running.code(), Some(3));
    assert_eq!(output(&url, &second).status.code(), Some(0));
}
