//! Tests of `ls` and `show`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use auto_mutex_tests::redis::Redis;
use serde_json::Value;

use super::rig::{Shop, are_waiting, client, command, document, output, text, written};
use super::schema::fits;

fn names(document: &Value) -> Vec<&str> {
    let locks = document["locks"].as_array().expect("a list").iter();
    locks
        .map(|lock| lock["name"].as_str().expect("a name"))
        .collect()
}

/// A condition variable has the name of its lock.
#[test]
fn a_condition_variable_is_shown_by_that_name() {
    let redis = Redis::start();
    let url = redis.url();
    let client = client(&url);
    let guard = client.mutex("jobs").blocking_lock().unwrap();
    let waits = std::thread::spawn({
        let client = client.clone();
        move || client.condvar("jobs").blocking_wait(guard).map(drop)
    });
    are_waiting(&url, "jobs:%condvar", 1);
    for subject in ["jobs", "jobs:%condvar"] {
        let shown = written(&url, &["show", subject], 0);
        assert!(shown.starts_with("jobs:%condvar  condvar"), "{shown}");
        let why = written(&url, &["why", subject], 0);
        assert!(why.contains(" waits for jobs:%condvar for "), "{why}");
    }
    client.condvar("jobs").blocking_notify_one().unwrap();
    waits.join().unwrap().unwrap();
    client.blocking_shutdown();
}

#[test]
fn locks_of_all_kinds_are_listed() {
    let shop = Shop::open();
    let listed = document(&shop.url, &["ls"], 0);
    assert_eq!(names(&listed), ["book", "orders:7", "pool"]);
    let lock = |name: &str| {
        let mut locks = listed["locks"].as_array().unwrap().iter();
        locks.find(|lock| lock["name"] == name).unwrap()
    };
    assert_eq!(lock("orders:7")["waiters"], 2);
    assert_eq!(lock("orders:7")["kind"], "mutex");
    assert_eq!(
        (&lock("pool")["used"], &lock("pool")["capacity"]),
        (&1.into(), &3.into())
    );
    assert_eq!(lock("book")["kind"], "rw_lock");
    assert!(lock("book")["oldest_wait_ms"].is_null());
    // The table for people shows the same lock.
    let table = written(&shop.url, &["ls"], 0);
    assert!(table.starts_with("NAME"), "{table}");
    let line = table
        .lines()
        .find(|line| line.starts_with("orders:7"))
        .unwrap();
    let me = std::process::id().to_string();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[..3], ["orders:7", "mutex", "1/1"], "{table}");
    assert!(words[3].ends_with(&format!(":{me}")), "{table}");
    assert!(!table.contains('\x1b'), "a pipe has no colours: {table:?}");
}

#[test]
fn a_list_is_narrowed() {
    let shop = Shop::open();
    let narrowed = |args: &[&str]| names(&document(&shop.url, args, 0)).join(" ");
    assert_eq!(narrowed(&["ls", "orders:*"]), "orders:7");
    assert_eq!(narrowed(&["ls", "--waiting"]), "orders:7");
    assert_eq!(narrowed(&["ls", "--longer-than", "1h"]), "");
    assert_eq!(
        narrowed(&["ls", "--longer-than", "0"]),
        "book orders:7 pool"
    );
    let free = client(&shop.url);
    drop(free.mutex("idle").blocking_lock().unwrap());
    free.blocking_shutdown();
    assert_eq!(narrowed(&["ls"]), "book orders:7 pool");
    assert_eq!(narrowed(&["ls", "--all"]), "book idle orders:7 pool");
}

/// The state of an idle lock is never asked for.
#[test]
fn a_look_costs_what_is_in_use() {
    const IDLE: u64 = 300;
    // Each run asks a few more questions when it connects.
    let fair = 3..10;
    let shop = Shop::open();
    let free = client(&shop.url);
    for number in 0..IDLE {
        let name = format!("idle:{number}");
        drop(free.mutex(name).blocking_lock().unwrap());
    }
    free.blocking_shutdown();
    let asked = |args: &[&str]| {
        let before = shop.redis.calls("evalsha");
        let out = output(&shop.url, args);
        (shop.redis.calls("evalsha") - before, text(&out.stdout))
    };
    for args in [
        &["ls"][..],
        &["ls", "*"],
        &["tree"],
        &["why", "orders:7"],
        &["doctor"],
    ] {
        // On a slow machine, the clients of the shop ask meanwhile.
        let tries: Vec<_> = (0..5)
            .map(|_| asked(args))
            .take_while(|it| !fair.contains(&it.0))
            .collect();
        assert!(tries.len() < 5, "{args:?}: {tries:?}");
    }
    let (calls, out) = asked(&["ls", "--all"]);
    assert!(calls > IDLE && out.contains("idle:299"), "{calls} {out}");
}

/// This foreign data has the length of an idle lock's state.
#[test]
fn foreign_data_is_not_taken_for_idle() {
    let shop = Shop::open();
    let key = "auto_mutex:{odd}";
    shop.redis
        .command(&["SET", key, "twelve bytes", "EX", "60"]);
    let found = document(&shop.url, &["doctor"], 3);
    let mut findings = found["findings"].as_array().unwrap().iter();
    assert!(findings.any(|it| it["id"] == "foreign-key" && it["subject"] == "odd"));
}

#[test]
fn a_line_for_each_lock_is_a_document() {
    let shop = Shop::open();
    let lines = written(&shop.url, &["ls", "-o", "jsonl"], 0);
    let count = lines.lines().map(|line| {
        let lock: Value = serde_json::from_str(line).unwrap();
        assert_eq!(lock["schema_version"], 1);
    });
    assert_eq!(count.count(), 3);
    assert_eq!(written(&shop.url, &["ls", "nothing", "-o", "jsonl"], 0), "");
    assert_eq!(names(&document(&shop.url, &["ls", "nothing"], 0)), [""; 0]);
}

#[test]
fn everything_about_a_lock_is_shown() {
    let shop = Shop::open();
    let shown = document(&shop.url, &["show", "orders:7"], 0);
    let holder = &shown["holders"][0];
    assert_eq!(holder["pid"], std::process::id());
    assert_eq!(holder["token"], shown["token"]);
    assert!(holder["lease_left_ms"].as_u64().unwrap() <= 30_000);
    assert!(holder["since"].as_str().unwrap().ends_with('Z'));
    for (index, waiter) in shown["waiters"].as_array().unwrap().iter().enumerate() {
        assert_eq!(waiter["place"], index + 1);
        assert_eq!(waiter["state"], "waiting");
    }
    let text = written(&shop.url, &["show", "orders:7"], 0);
    for part in [
        "orders:7  mutex  1/1",
        "holders",
        "waiters",
        "auto-mutex kick 'orders:7' --token",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Showing an unused name is not an error.
    let shown = document(&shop.url, &["show", "nothing"], 0);
    assert!(shown["kind"].is_null() && shown["holders"].as_array().unwrap().is_empty());
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let shop = Shop::open();
    let client = client(&shop.url);
    // The list of this many locks exceeds the buffer of a pipe.
    let held: Vec<_> = (0..1500)
        .map(|number| {
            client
                .mutex(format!("{number}:{}", "x".repeat(80)))
                .blocking_lock()
                .unwrap()
        })
        .collect();
    let mut child = command(&shop.url, &["ls"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    // The previous statement has dropped the reader of the pipe.
    let ended = child.wait_with_output().unwrap();
    assert_eq!(
        (ended.status.code(), text(&ended.stderr).as_str()),
        (Some(0), "")
    );
    drop(held);
}

#[test]
fn names_with_odd_characters_are_found_as_they_are_shown() {
    let shop = Shop::open();
    let client = client(&shop.url);
    let _held = client.mutex("a b%{ü}").blocking_lock().unwrap();
    let listed = document(&shop.url, &["ls", "a*"], 0);
    let name = names(&listed)[0].to_owned();
    for name in [name.as_str(), "a b%{ü}", "a%20b%25%7Bü%7D"] {
        let shown = document(&shop.url, &["show", name], 0);
        assert_eq!(shown["holders"].as_array().unwrap().len(), 1, "{name}");
    }
    for (locale, shown) in [
        ("C.UTF-8", "a%20b%25%7Bü%7D "),
        ("C", "a%20b%25%7B%C3%BC%7D "),
    ] {
        let mut ls = command(&shop.url, &["ls", "*ü*"]);
        let output = ls.env("LC_ALL", locale).output().unwrap();
        let table = text(&output.stdout);
        let line = table.lines().nth(1).unwrap();
        assert!(line.starts_with(shown), "{table}");
    }
}

#[test]
fn what_is_wrong_is_said_by_the_exit_code_and_no_password_is_shown() {
    let shop = Shop::open();
    let port = shop.redis.port();
    for (url, code) in [
        ("redis://user:canary@127.0.0.1:1".to_owned(), 5),
        (format!("redis://user:canary@127.0.0.1:{port}"), 1),
        ("redis://user:canary/@127.0.0.1:1".to_owned(), 2),
        ("mysql://user:canary@127.0.0.1:1".to_owned(), 2),
        ("memory://".to_owned(), 2),
        (String::new(), 2),
    ] {
        for args in [["ls", "-o", "json"], ["show", "x", "-ojson"]] {
            let output = output(&url, &args);
            assert_eq!(output.status.code(), Some(code), "{url} {output:?}");
            let said = text(&output.stderr);
            let document: Value = serde_json::from_str(&said).expect("a document");
            fits("error", &document);
            assert_eq!(document["exit_code"], code);
            assert!(!said.contains("canary"), "{said}");
            assert!(output.stdout.is_empty());
        }
        let said = text(&output(&url, &["ls"]).stderr);
        assert!(
            said.starts_with("auto-mutex: ") && !said.contains("canary"),
            "{said}"
        );
    }
    // The help shows the variable from which the URL comes, but not its value.
    let help = written("redis://user:canary@h", &["ls", "--help"], 0);
    assert!(
        help.contains("AUTO_MUTEX_URL") && !help.contains("canary"),
        "{help}"
    );
}

#[test]
fn a_hundred_thousand_names_are_listed_with_little_memory() {
    let shop = Shop::open();
    // Writes idle names in the library's format. Using so many locks through the library would take minutes.
    let fill = "for number = 1, 100000 do redis.call('SET', 'auto_mutex:{many:' .. number .. '}', '3 i ' .. struct.pack('<d', number), 'EX', 600) end";
    shop.redis.command(&["EVAL", fill, "0"]);
    let mut child = command(&shop.url, &["ls", "--all", "many:*", "-o", "jsonl"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let before_end = lines.by_ref().take(99_000).map(Result::unwrap).count();
    // The remaining output exceeds the buffer of a pipe, so the process is still running.
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    let peak = status.ok().and_then(|status| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?
            .trim()
            .to_owned();
        line.strip_suffix(" kB")?.parse::<u64>().ok()
    });
    // Other systems do not have this file.
    if cfg!(target_os = "linux") {
        assert!(peak.unwrap() < 100_000, "{peak:?} kB");
    }
    assert_eq!(before_end + lines.map(Result::unwrap).count(), 100_000);
    assert!(child.wait().unwrap().success());
}
