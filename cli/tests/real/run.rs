//! Tests of `run`.

use std::process::{Command, Output, Stdio};

use auto_mutex::{Client, Config};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::process;
use auto_mutex_tests::redis::{Options, Redis};

use super::rig::{client, command, document, is_held, output, text};

fn run(url: &str, args: &[&str]) -> Output {
    let args: Vec<_> = ["run"].iter().chain(args).copied().collect();
    output(url, &args)
}

#[test]
fn the_command_runs_under_the_lock_and_knows_its_token() {
    let redis = Redis::start();
    let url = redis.url();
    // The command under the lock is `auto-mutex show`, which reports its own hold.
    let program = env!("CARGO_BIN_EXE_auto-mutex");
    // It is not told the URL.
    let show = [program, "--url", &url, "show"];
    let shown = run(
        &url,
        &[&["cron", "--"], &show[..], &["cron", "-o", "json"]].concat(),
    );
    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["kind"], "mutex");
    let token = run(&url, &["cron", "--", "sh", "-c", "echo $AUTO_MUTEX_TOKEN"]);
    let token: u64 = text(&token.stdout).trim().parse().unwrap();
    let before: u64 = shown["token"].as_str().unwrap().parse().unwrap();
    assert!(token > before, "{token} {before}");
    let pool = ["pool", "--semaphore", "2", "--"];
    let shown = run(&url, &[&pool, &show[..], &["pool", "-o", "json"]].concat());
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(
        (&shown["kind"], &shown["capacity"]),
        (&"semaphore".into(), &2.into())
    );
    // The lock is free after the command has ended.
    let shown = document(&url, &["show", "cron"], 0);
    assert!(shown["holders"].as_array().unwrap().is_empty());
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let redis = Redis::start();
    let url = redis.url();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        let ended = run(&url, &["cron", "--", "sh", "-c", script]);
        assert_eq!(ended.status.code(), Some(code), "{script} {ended:?}");
    }
    assert_eq!(
        run(&url, &["cron", "--", "/no/such/command"]).status.code(),
        Some(127)
    );
    assert_eq!(run(&url, &["cron", "--", "/"]).status.code(), Some(126));
    assert_eq!(
        run("redis://127.0.0.1:1", &["cron", "--", "true"])
            .status
            .code(),
        Some(69)
    );
    assert_eq!(
        run("mysql://h", &["cron", "--", "true"]).status.code(),
        Some(2)
    );
    assert_eq!(run(&url, &["a%20b", "--", "true"]).status.code(), Some(2));
    assert_eq!(run(&url, &["cron"]).status.code(), Some(2));
}

#[test]
fn who_comes_second_does_not_run() {
    let redis = Redis::start();
    let url = redis.url();
    let client = client(&url);
    let guard = client.mutex("cron").blocking_lock().unwrap();
    let refused = run(&url, &["cron", "--block", "0", "--", "echo", "ran"]);
    assert_eq!(refused.status.code(), Some(75), "{refused:?}");
    assert!(refused.stdout.is_empty());
    assert!(text(&refused.stderr).contains("cron"), "{refused:?}");
    guard.blocking_unlock().unwrap();
    let ran = run(
        &url,
        &[
            "cron",
            "--block",
            "0",
            "--at-least",
            "1h",
            "--",
            "echo",
            "ran",
        ],
    );
    assert_eq!(text(&ran.stdout), "ran\n");
    // With `--at-least`, the lock is kept after the command has ended.
    let refused = run(&url, &["cron", "--block", "0", "--", "echo", "ran"]);
    assert_eq!(refused.status.code(), Some(75));
}

#[test]
fn a_missing_right_means_that_the_store_refuses() {
    let rule = auto_mutex::acl_rule("redis://h").unwrap().to_string();
    // The last one is only missed when the lock is taken.
    for without in ["-evalsha", "-subscribe", "-publish", "resetkeys ~other:*"] {
        let rule = format!("{rule} {without}");
        let redis = Redis::with(Options::default().user("locks", "canary", &rule));
        let refused = run(&redis.url(), &["cron", "--", "true"]);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(69), "{without} {said}");
        assert!(said.contains("permission"), "{without} {said}");
    }
}

#[test]
fn a_command_whose_lock_is_lost_is_ended_with_all_that_it_has_started() {
    let redis = Redis::start();
    let url = redis.url();
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    // The command ignores SIGTERM, and so does the process that it starts.
    let script =
        "trap '' TERM; sleep 1000 & echo $! > \"$0.new\"; mv \"$0.new\" \"$0\"; wait; wait";
    let child = command(
        &url,
        &["run", "cron", "--grace", "100ms", "--", "sh", "-c", script],
    )
    .arg(&started)
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    eventually("the command runs", || started.exists());
    let inner: u32 = std::fs::read_to_string(&started)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let token = document(&url, &["show", "cron"], 0)["holders"][0]["token"].clone();
    document(
        &url,
        &["kick", "cron", "--token", token.as_str().unwrap(), "--yes"],
        0,
    );
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(79), "{ended:?}");
    assert!(
        text(&ended.stderr).contains("the command is ended"),
        "{ended:?}"
    );
    eventually("what it had started is gone", || {
        let state = std::fs::read_to_string(format!("/proc/{inner}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    });
}

#[test]
fn signals_are_passed_on_and_the_lock_is_released() {
    let redis = Redis::start();
    let url = redis.url();
    let child = command(
        &url,
        &[
            "run",
            "cron",
            "--",
            "sh",
            "-c",
            "trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done",
        ],
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    is_held(&url, "cron");
    let mut child = child;
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    process::terminate(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert_eq!(
        run(&url, &["cron", "--block", "0", "--", "true"])
            .status
            .code(),
        Some(0)
    );
    // While `run` waits for the lock, a signal ends it immediately.
    let client = client(&url);
    let _guard = client.mutex("cron").blocking_lock().unwrap();
    let mut waiting: std::process::Child = Command::new(env!("CARGO_BIN_EXE_auto-mutex"))
        .args(["run", "cron", "--", "true"])
        .env("AUTO_MUTEX_URL", &url)
        .spawn()
        .unwrap();
    super::rig::are_waiting(&url, "cron", 1);
    process::terminate(waiting.id());
    assert_eq!(waiting.wait().unwrap().code(), Some(143));
    super::rig::are_waiting(&url, "cron", 0);
}

#[test]
fn a_namespace_is_that_of_programs() {
    let redis = Redis::start();
    let url = redis.url();
    let program = Client::connect(Config::new(&url).unwrap().namespace("prod")).unwrap();
    let _guard = program.mutex("nightly").blocking_lock().unwrap();
    let in_namespace = |namespace: &str, args: &[&str]| {
        let mut command = command(&url, args);
        command.env("AUTO_MUTEX_NAMESPACE", namespace);
        let output = command.output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout))
    };
    let run = ["run", "nightly", "--block", "0", "--", "true"];
    for (namespace, code) in [("prod", 75), ("staging", 0), ("", 0)] {
        assert_eq!(in_namespace(namespace, &run).0, code, "{namespace}");
    }
    // The option overrides the variable.
    let option = [
        "run",
        "nightly",
        "--namespace",
        "prod",
        "--block",
        "0",
        "--",
        "true",
    ];
    assert_eq!(in_namespace("staging", &option).0, 75);
    for (namespace, name) in [
        ("prod", "nightly"),
        ("prod", "prod:nightly"),
        ("", "prod:nightly"),
    ] {
        let (code, shown) = in_namespace(namespace, &["show", name]);
        assert!(
            code == 0 && shown.starts_with("prod:nightly  mutex"),
            "{name}: {shown}"
        );
        let (_, why) = in_namespace(namespace, &["why", name]);
        assert!(why.contains("holds prod:nightly"), "{why}");
    }
    for (namespace, count) in [("prod", 1), ("staging", 0), ("p*", 0), ("", 1)] {
        let (_, listed) = in_namespace(namespace, &["ls", "-o", "jsonl"]);
        assert_eq!(listed.lines().count(), count, "{namespace}: {listed}");
    }
}

#[test]
fn the_holder_is_the_command_without_its_arguments() {
    let redis = Redis::start();
    let url = redis.url();
    let program = env!("CARGO_BIN_EXE_auto-mutex");
    let show = [program, "--url", &url, "show", "cron", "-o", "json"];
    let shown = run(&url, &[&["cron", "--"], &show[..]].concat());
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let holder = &shown["holders"][0];
    assert_eq!(holder["site"], format!("{program} …"));
    assert!(holder["file"].is_null(), "{holder}");
}
