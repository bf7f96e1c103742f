//! The commands on a cluster, a quorum, and the primary of sentinels.

use auto_mutex::{Client, Config};
use auto_mutex_tests::cluster::{Cluster, Shape};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::sentinel::Service;
use auto_mutex_tests::stores::quorum_url;

use super::rig::{are_waiting, client, document, output, text};

/// Holds twenty locks, and waits for one of them. Then lists all locks, and shows and kicks the lock with the waiter.
pub(super) fn works_on(url: &str) {
    let (client, other) = (client(url), client(url));
    let names: Vec<_> = (0..20).map(|number| format!("n:{number:02}")).collect();
    let mut held: Vec<_> = names
        .iter()
        .map(|name| client.mutex(name).blocking_lock().unwrap())
        .collect();
    let waiter = other.clone();
    let waiting = std::thread::spawn(move || waiter.mutex("n:07").blocking_lock().map(drop));
    are_waiting(url, "n:07", 1);
    let listed = document(url, &["ls"], 0);
    let mut found: Vec<_> = listed["locks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lock| lock["name"].as_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, names);
    let shown = document(url, &["show", "n:07"], 0);
    assert_eq!(shown["holders"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown["waiters"].as_array().unwrap().len(), 1, "{shown}");
    let tree = document(url, &["tree"], 0);
    assert_eq!(tree["chains"][0]["hops"][0]["name"], "n:07");
    assert_eq!(
        document(url, &["ls", "--waiting"], 0)["locks"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let guard = held.remove(7);
    let token = guard.fencing_token().to_string();
    assert_eq!(shown["holders"][0]["token"], token.as_str());
    let kicked = document(url, &["kick", "n:07", "--token", &token, "--yes"], 0);
    assert_eq!(kicked["kicked"], true);
    waiting.join().unwrap().unwrap();
    assert_eq!(
        document(url, &["show", "n:07"], 0)["kicked"]["token"],
        token.as_str()
    );
    auto_mutex_tests::events::eventually("the guard is lost", || guard.is_lost());
    let doctor = output(url, &["doctor"]);
    assert!(matches!(doctor.status.code(), Some(0 | 3)), "{doctor:?}");
    client.blocking_shutdown();
    other.blocking_shutdown();
}

#[test]
fn a_cluster() {
    let cluster = Cluster::with(Shape::default().without_replicas());
    works_on(&cluster.url());
}

#[test]
fn a_quorum_and_one_without_a_server() {
    let servers = Redis::several(3, &Options::default());
    let url = quorum_url(servers.iter().map(Redis::port));
    works_on(&url);
    servers[0].kill9();
    works_on(&url);
    let doctor = document(&url, &["doctor"], 3);
    let findings = doctor["findings"].as_array().unwrap().iter();
    assert!(
        findings
            .into_iter()
            .any(|finding| finding["id"] == "server-unreachable"),
        "{doctor}"
    );
    servers[1].kill9();
    assert_eq!(
        output(&url, &["ls", "--timeout", "1s"]).status.code(),
        Some(5)
    );
}

/// The server came back without its data, or missed the grant.
#[test]
fn a_lock_that_one_server_of_a_quorum_takes_for_idle() {
    let servers = Redis::several(3, &Options::default());
    let url = quorum_url(servers.iter().map(Redis::port));
    let client = client(&url);
    let _held = client.mutex("n").blocking_lock().unwrap();
    let guard = client.mutex("idle").blocking_lock().unwrap();
    assert!(guard.blocking_unlock().unwrap());
    let idle = format!("3 i {}", "\0".repeat(8));
    servers[0].command(&["SET", "auto_mutex:{n}", &idle, "EX", "600"]);
    let listed = document(&url, &["ls"], 0);
    let locks = listed["locks"].as_array().unwrap();
    assert_eq!((locks.len(), &locks[0]["name"]), (1, &"n".into()));
}

#[test]
fn the_primary_of_sentinels() {
    let service = Service::start();
    works_on(&service.url());
}

/// A restarted server grants nothing to a client with the restart guard, and each command says so.
fn tells_of_the_closed_store(url: &str, servers: usize) {
    let config = Config::new(url).unwrap().connect_timeout("60s");
    let client = Client::connect(config.restart_guard(true)).unwrap();
    let closed = |text: &str| text.contains("grants nothing for another");
    let error = client.mutex("x").block("0s").blocking_lock().unwrap_err();
    let Some(source) = std::error::Error::source(&error) else {
        panic!("{error}");
    };
    assert!(closed(&source.to_string()), "{source}");
    let doctor = document(url, &["doctor"], 3);
    let findings = doctor["findings"].as_array().unwrap().iter();
    let found = findings.filter(|finding| finding["id"] == "closed");
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), servers, "{doctor}");
    assert!(closed(found[0]["meaning"].as_str().unwrap()), "{doctor}");
    let why = output(url, &["why", "x"]);
    assert!(closed(&text(&why.stderr)), "{why:?}");
    let run = output(url, &["run", "x", "--block", "2s", "--", "true"]);
    assert_eq!(run.status.code(), Some(69), "{run:?}");
    let said = text(&run.stderr);
    assert!(
        said.starts_with("auto-mutex: waiting: the lock store grants nothing"),
        "{said}"
    );
    // Reading leaves no note, so a server without clients is never closed for it.
    client.blocking_shutdown();
}

#[test]
fn a_closed_server_a_quorum_a_cluster_and_a_primary() {
    tells_of_the_closed_store(&Redis::start().url(), 1);
    let servers = Redis::several(3, &Options::default());
    tells_of_the_closed_store(&quorum_url(servers.iter().map(Redis::port)), 3);
    let cluster = Cluster::with(Shape::default().without_replicas());
    tells_of_the_closed_store(&cluster.url(), 3);
    tells_of_the_closed_store(&Service::start().url(), 1);
}

#[test]
fn a_look_closes_no_server() {
    let options = Options::default().replicated();
    let [primary, replica] = [options.clone(), options].map(Redis::with);
    replica.follow(&primary);
    replica.promote();
    let doctor = |closed: bool| {
        let doctor = document(&replica.url(), &["doctor"], 3);
        let mut findings = doctor["findings"].as_array().unwrap().iter();
        assert_eq!(
            findings.any(|finding| finding["id"] == "closed"),
            closed,
            "{doctor}"
        );
    };
    doctor(false);
    doctor(false);
    let keys = format!("{:?}", replica.command(&["DBSIZE"]));
    assert_eq!(keys, "Int(0)");
    let client = client(&replica.url());
    doctor(true);
    client.blocking_shutdown();
}
