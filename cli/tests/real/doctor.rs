//! Tests of `doctor`.

use std::sync::mpsc;

use auto_mutex::{Client, Config, LockError};
use auto_mutex_tests::redis::{Options, Redis};
use serde_json::Value;

use super::rig::{Shop, client, copy, document, is_held, output, text, written};

pub(super) fn ids(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}

/// The options of a server without any problem.
fn good() -> Options {
    Options::default()
        .persistent()
        .line("maxmemory-policy noeviction")
}

#[test]
fn nothing_is_wrong_where_nothing_is() {
    let shop = Shop::on(Redis::with(good()));
    let found = document(&shop.url, &["doctor"], 0);
    assert_eq!(ids(&found), [""; 0], "{found}");
    assert!(written(&shop.url, &["doctor"], 0).starts_with("Nothing is wrong"));
}

#[test]
fn what_is_wrong_has_an_id_a_meaning_and_a_remedy() {
    let options = Options::default()
        .line("maxmemory 100mb")
        .line("maxmemory-policy allkeys-lru");
    let shop = Shop::on(Redis::with(options));
    shop.redis
        .command(&["SET", "auto_mutex:{foreign}", "something else"]);
    let found = document(&shop.url, &["doctor", "--longest-wait", "0"], 3);
    for id in [
        "eviction",
        "restart-forgets",
        "foreign-key",
        "key-without-end",
        "old-waiter",
    ] {
        assert!(ids(&found).contains(&id), "{id}: {found}");
    }
    for finding in found["findings"].as_array().unwrap() {
        for field in ["meaning", "remedy"] {
            assert!(!finding[field].as_str().unwrap().is_empty(), "{finding}");
        }
    }
    let said = written(&shop.url, &["doctor", "--longest-wait", "0"], 3);
    assert!(
        said.contains("remedy: ") && said.ends_with("findings.\n"),
        "{said}"
    );
    // The foreign key, which also lacks a time to live, does not keep `ls` from listing the other locks.
    let listed = document(&shop.url, &["ls"], 0);
    assert_eq!(listed["locks"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_known_is_left_out() {
    let shop = Shop::on(Redis::with(
        good()
            .line("maxmemory 100mb")
            .line("maxmemory-policy allkeys-lru"),
    ));
    let found = document(&shop.url, &["doctor"], 3);
    assert_eq!(ids(&found), ["eviction"]);
    let ignoring = |ids: &[&str], code| {
        let ids = ids.iter().flat_map(|id| ["--ignore", id]);
        let args: Vec<_> = ["doctor"].into_iter().chain(ids).collect();
        let output = output(&shop.url, &args);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        (text(&output.stdout), text(&output.stderr))
    };
    assert!(
        ignoring(&["eviction", "cycle"], 0)
            .0
            .starts_with("Nothing else was found")
    );
    assert!(ignoring(&["cycle"], 3).0.contains("eviction"));
    let (_, said) = ignoring(&["evictoin"], 2);
    assert!(
        said.contains("evictoin") && said.contains("replica-lag"),
        "{said}"
    );
}

#[test]
fn scripts_that_programs_must_have_loaded_are_missed() {
    let shop = Shop::open();
    let client = client(&shop.url);
    drop(client.mutex("kept").at_least("1h").blocking_lock().unwrap());
    client.blocking_shutdown();
    // The copy has the same locks, but no program has loaded the scripts there.
    let copied = copy(&shop.redis);
    let found = document(&copied.url(), &["doctor"], 3);
    assert!(ids(&found).contains(&"scripts"), "{found}");
    // The first `doctor` has loaded the scripts.
    let found = document(&copied.url(), &["doctor"], 3);
    assert!(!ids(&found).contains(&"scripts"), "{found}");
}

#[test]
fn a_clock_that_differs_is_found() {
    let clock = std::sync::Arc::new(auto_mutex_tests::clock::Clock::new().expect("a C compiler"));
    let shop = Shop::on(Redis::with(good().clock(&clock)));
    assert_eq!(ids(&document(&shop.url, &["doctor"], 0)), [""; 0]);
    clock.forward(std::time::Duration::from_secs(90));
    let found = document(&shop.url, &["doctor"], 3);
    assert!(ids(&found).contains(&"clock"), "{found}");
}

#[test]
fn one_function_in_a_namespace_and_without_one_is_found() {
    let shop = Shop::on(Redis::with(good()));
    let [in_a_namespace, without] = [Some("shop"), None].map(|namespace| {
        let config = Config::new(&*shop.url).unwrap().restart_guard(false);
        let client = Client::connect(match namespace {
            Some(namespace) => config.namespace(namespace),
            None => config,
        });
        client.unwrap()
    });
    let lead = |client: &Client, ended: mpsc::Receiver<()>| {
        let leader = client.leader("reports");
        std::thread::spawn(move || {
            leader.blocking_lead(|_| ended.recv().map_err(|_| LockError::ShutDown))
        })
    };
    let (ends, ended): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel()).unzip();
    let clients = [in_a_namespace, without];
    let leads: Vec<_> = clients
        .iter()
        .zip(ended)
        .map(|(client, ended)| lead(client, ended))
        .collect();
    is_held(&shop.url, "shop:reports");
    is_held(&shop.url, "reports");
    let found = document(&shop.url, &["doctor"], 3);
    assert_eq!(ids(&found), ["namespaces"], "{found}");
    let finding = &found["findings"][0];
    assert_eq!(finding["subject"], "shop:reports");
    drop(ends);
    for (client, leads) in clients.iter().zip(leads) {
        client.blocking_shutdown();
        let _ = leads.join();
    }
}

#[test]
fn programs_that_disagree_about_permits_are_found() {
    let shop = Shop::on(Redis::with(good()));
    let clients = [2, 4].map(|permits| {
        let client = client(&shop.url);
        let permit = client.semaphore("print", permits).blocking_acquire();
        (client, permit.unwrap())
    });
    let found = document(&shop.url, &["doctor"], 3);
    assert_eq!(ids(&found), ["permits"], "{found}");
    let finding = &found["findings"][0];
    assert_eq!(finding["subject"], "print");
    let meaning = finding["meaning"].as_str().unwrap();
    assert!(
        meaning.contains(" gives it 2 permits, ")
            && meaning.ends_with(" 4: as long as both use it, there are 2"),
        "{meaning}"
    );
    for (client, permit) in clients {
        drop(permit);
        client.blocking_shutdown();
    }
}

/// As the page on operations says it.
#[test]
fn all_keys_are_removed() {
    let redis = Redis::start();
    let client = client(&redis.url());
    drop(client.mutex("kept").at_least("1h").blocking_lock().unwrap());
    client.blocking_shutdown();
    let page = include_str!("../../../docs/operations.md");
    let (_, removing) = page.split_once("- **Removing them.**").unwrap();
    let (_, line) = removing.split_once("```sh\n").unwrap();
    let line = line.split('\n').next().unwrap();
    let line = line.replace("redis-cli", &format!("redis-cli -p {}", redis.port()));
    redis.command(&["SET", "auto_mutex:{it's \"odd\"}", "x"]);
    redis.command(&["SET", "other", "x"]);
    let status = std::process::Command::new("sh")
        .args(["-c", &line])
        .status();
    assert!(status.unwrap().success());
    assert!(redis.keys().is_empty());
    let left = format!("{:?}", redis.command(&["KEYS", "*"]));
    assert!(left.contains("other"), "{left}");
}
