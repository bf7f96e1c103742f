//! Runs the service as its deployment would: probes while Redis is down and up, SIGTERM while a body runs, as process
//! 1, and in three replicas. Uses a private Redis, if redis-server is installed. `deploy` checks the files of the
//! deployment.

mod deploy;
#[allow(dead_code, unreachable_pub)]
#[path = "../../../../tests/src/real_time.rs"]
mod real_time;

use std::fs;
use std::process::Command;
use std::thread;

use auto_mutex::{Client, Config};
use auto_mutex_examples::run::{Running, ask, command, eventually, redis, terminate, url};

use self::real_time::real_time;

const SERVICE: &str = env!("CARGO_BIN_EXE_service");

/// Starts the service; returns it with the address on which it listens.
fn service(command: &mut Command) -> (Running, String) {
    // The variables that the manifests set.
    let command = command.env("POD_NAME", "service-x2x8q");
    let mut service = Running::start(command.env("POD_NAMESPACE", "prod"));
    let address = service.address();
    (service, address)
}

fn close(address: &str, month: u32, millis: u32) -> (u16, String) {
    ask(address, "POST", &format!("/close/{month}/{millis}"))
}

fn is_ready(address: &str) -> bool {
    ask(address, "GET", "/readyz").0 == 200
}

#[test]
fn it_starts_without_redis_answers_probes_and_ends_in_good_order() {
    let _watch = real_time();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut process, address) = service(&mut command(SERVICE, &url(folder.path())));
    assert_eq!(ask(&address, "GET", "/healthz").0, 200);
    // Where it tries to connect is for the log only.
    let not_ready = (503, "not ready".to_owned());
    assert_eq!(ask(&address, "GET", "/readyz"), not_ready);
    process.line("not ready: not ready; not connected");

    let Some(_redis) = redis(folder.path()) else {
        return;
    };
    eventually("it is ready", || is_ready(&address));
    let closed = |month| (200, format!("month {month} is closed"));
    assert_eq!(close(&address, 1, 0), closed(1));

    // One body runs, and another client waits for its lock.
    let body = thread::spawn({
        let address = address.clone();
        move || close(&address, 5, 8000)
    });
    process.line("closing month=5");
    let config = Config::new(url(folder.path())).expect("a URL");
    let other = Client::connect(config).expect("it is there");
    let mutex = other.mutex("auto-mutex-example-service:service:crate:close:5");
    let info = mutex.blocking_info().expect("an answer");
    let pod = info.holder().and_then(|holder| holder.pod.as_deref());
    assert_eq!(pod, Some("prod/service-x2x8q"), "{info:?}");
    let next_one = thread::spawn(move || mutex.blocking_lock());
    process.terminate();

    // The body ends, its request is answered, its lock passes to the other client at once, and the process ends
    // successfully.
    assert_eq!(body.join().expect("no panic"), closed(5));
    drop(next_one.join().expect("no panic").expect("the lock"));
    let (status, rest) = process.end();
    assert!(rest.ends_with("every lock was released"), "{rest}");
    assert!(status.success(), "{status}");
}

/// The container's program is process 1: the kernel drops a SIGTERM that it doesn't handle.
#[test]
#[cfg(target_os = "linux")]
fn as_process_1_it_ends_in_good_order() {
    let mut in_namespace = Command::new("unshare");
    let new = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    in_namespace.args(["--user", "--map-root-user"]).args(new);
    let tried = Command::new("unshare")
        .args(in_namespace.get_args())
        .arg("true")
        .output();
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: `unshare` makes no process namespace here");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(_redis) = redis(folder.path()) else {
        return;
    };
    let mut command = command("unshare", &url(folder.path()));
    let (mut process, address) = service(command.args(in_namespace.get_args()).arg(SERVICE));
    eventually("it is ready", || is_ready(&address));
    // Of this process, `unshare`, the service is the only child.
    let id = process.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let service: u32 = children.expect("/proc").trim().parse().expect("one child");
    let status = fs::read_to_string(format!("/proc/{service}/status")).expect("/proc");
    let ids = status.lines().find(|line| line.starts_with("NSpid:"));
    assert_eq!(ids.and_then(|ids| ids.split_whitespace().last()), Some("1"));

    let body = thread::spawn(move || close(&address, 5, 1000));
    process.line("closing month=5");
    terminate(service);
    assert_eq!(body.join().expect("no panic").0, 200);
    let (status, rest) = process.end();
    assert!(rest.ends_with("every lock was released"), "{rest}");
    assert!(status.success(), "{status}");
}

#[test]
fn three_replicas_take_turns_and_one_may_stop() {
    const CALLS: usize = 4;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(_redis) = redis(folder.path()) else {
        return;
    };
    let replicas = || service(&mut command(SERVICE, &url(folder.path())));
    let mut replicas = [replicas(), replicas(), replicas()];
    for (_, address) in &replicas {
        eventually("it is ready", || is_ready(address));
    }
    let clients = replicas.each_ref().map(|(_, address)| {
        let address = address.clone();
        let close_one = move || {
            // 409: the others took longer than `block`. A client tries again.
            eventually("it is closed", || close(&address, 7, 20).0 == 200);
        };
        thread::spawn(move || (0..CALLS).for_each(|_| close_one()))
    });
    for client in clients {
        client.join().expect("no panic");
    }

    // The metrics that the alerts are about are there. Those of outages appear with an outage, those of leaders with a
    // leader.
    let (_, metrics) = ask(&replicas[0].1, "GET", "/metrics");
    for name in deploy::metrics_of_the_alerts() {
        let outages = ["auto_mutex_lost_total", "auto_mutex_renewal_failures_total"];
        let is_there = metrics.contains(&format!("\n{name}"));
        let is_absent = outages.contains(&&*name) || name.starts_with("auto_mutex_leader");
        assert!(is_there || is_absent, "{name} is not in:\n{metrics}");
    }

    // A stopped replica doesn't hold the others up.
    replicas[0].0.terminate();
    assert_eq!(close(&replicas[1].1, 7, 0).0, 200);
    for (process, _) in &replicas[1..] {
        process.terminate();
    }

    // By the clock that all of them share, no two were inside at the same time.
    let mut events = Vec::new();
    for (process, _) in &mut replicas {
        let (status, said) = process.end();
        assert!(status.success(), "{status}: {said}");
        let of_month = said.lines().filter(|line| line.contains("month=7"));
        events.extend(of_month.map(str::to_owned));
    }
    events.sort();
    assert_eq!(events.len(), 2 * (3 * CALLS + 1), "{events:#?}");
    for turn in events.chunks(2) {
        let steps = turn[0].contains("closing") && turn[1].contains("closed");
        assert!(steps, "two at a time: {events:#?}");
    }
}
