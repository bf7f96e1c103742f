//! A program that is process 1 of a container. The system ignores a signal that process 1 does not handle.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::process;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::Worker;

use crate::{is_released, setup};

/// Starts a program as process 1.
const LAUNCHER: &[&str] = &["unshare", "--pid", "--fork", "--kill-child"];

/// The signals, and the exit codes with which shells report them.
const SIGNALS: [(fn(u32), i32); 2] = [(process::terminate, 143), (process::interrupt, 130)];

/// Whether this user may start such a program.
fn is_permitted() -> bool {
    let mut launcher = Command::new(LAUNCHER[0]);
    let status = launcher.args(&LAUNCHER[1..]).arg("true").status();
    let permitted = status.is_ok_and(|status| status.success());
    if !permitted {
        eprintln!("skipped: `{}` is not permitted here", LAUNCHER.join(" "));
    }
    permitted
}

/// The id of process 1, as its parent sees it.
fn process_1(launcher: &Worker) -> u32 {
    let path = format!("/proc/{0}/task/{0}/children", launcher.pid());
    let mut child = None;
    eventually("the program runs", || {
        let children = std::fs::read_to_string(&path).expect("the children");
        child = children.trim().parse().ok();
        child.is_some()
    });
    child.expect("checked")
}

#[test]
fn as_process_1_it_ends_with_the_exit_code_of_the_signal() {
    if !is_permitted() {
        return;
    }
    let redis = Redis::start();
    let mut setup = setup(&redis, LONG);
    setup.launcher = LAUNCHER;
    for (signal, code) in SIGNALS {
        let mut worker = setup.start();
        worker.say("termination 600");
        worker.expect("ok");
        worker.lock("m");
        worker.say("lock m");
        eventually("it waits", || redis.waiting() == 1);
        signal(process_1(&worker));
        // It lets the body end, like any other process.
        worker.expect("failed m ShutDown");
        worker.say("drop m");
        let status = worker.ended();
        assert_eq!((status.code(), status.signal()), (Some(code), None));
        is_released(&redis);
    }
}
