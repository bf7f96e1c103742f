//! The load of connecting clients on a server: little if the server has the scripts, which otherwise are loaded once
//! for all clients.

use auto_mutex_seam::store::{MemberId, RandomId};
use redis::Connection;

use super::real_time::real_time;
use super::server::{LONG, Server, connect, run};
use super::transport::Peer;
use crate::connect::epoch::EpochKeys;
use crate::connect::loading;
use crate::script::Scripts;
use crate::wire;
use crate::wire::Limits;

/// The limit of bytes that each client may send while it connects to a server that knows the scripts.
const LITTLE: u64 = 4096;
/// The limit of bytes for a server that does not know the scripts.
const SCRIPTS: u64 = 80_000;

/// Returns a number in the output of INFO.
fn figure(admin: &mut Connection, section: &str, name: &str) -> u64 {
    let info: String = run(admin, &["INFO", section]);
    let mut lines = info.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = line.unwrap_or("0").trim_start_matches("calls=");
    let digits = value.split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn received(admin: &mut Connection) -> u64 {
    figure(admin, "stats", "total_net_input_bytes")
}

fn loads(admin: &mut Connection) -> u64 {
    // (Redis 6 does not count subcommands, so the number is 0 there.)
    figure(admin, "commandstats", "cmdstat_script|load")
}

async fn set_up(server: &Server) {
    let endpoint = server.endpoint("");
    let connected = connect(&endpoint, LONG, None, MemberId::random()).await;
    connected.map(drop).unwrap();
}

#[tokio::test]
async fn a_server_that_knows_the_scripts_is_sent_little() {
    let server = Server::start();
    let mut admin = server.connection();
    let before = received(&mut admin);
    let mut peer = Peer::new(&server).await;
    let first = received(&mut admin) - before;
    assert!(first > 20_000 && first < SCRIPTS, "{first}");
    for _ in 0..3 {
        let before = received(&mut admin);
        run::<u32>(&mut admin, &["CLIENT", "KILL", "TYPE", "pubsub"]);
        peer.lost().await;
        peer.back().await;
        let sent = received(&mut admin) - before;
        assert!(sent < LITTLE, "{sent} bytes to connect again");
        let before = received(&mut admin);
        set_up(&server).await;
        let sent = received(&mut admin) - before;
        assert!(sent < LITTLE, "{sent} bytes to set up");
    }
    peer.end().await;
}

#[tokio::test]
async fn a_herd_loads_the_scripts_once() {
    const HERD: u64 = 40;
    let server = Server::start();
    let mut admin = server.connection();
    let mut herd = Vec::new();
    for _ in 0..HERD {
        herd.push(Peer::new(&server).await);
    }
    let (sent, loaded) = (received(&mut admin), loads(&mut admin));
    // Has the effect of a restart on all clients at once.
    redis::pipe()
        .cmd("SCRIPT")
        .arg("FLUSH")
        .cmd("CLIENT")
        .arg(&["KILL", "TYPE", "pubsub"])
        .exec(&mut admin)
        .unwrap();
    for peer in &mut herd {
        peer.lost().await;
        peer.back().await;
    }
    let (sent, loaded) = (received(&mut admin) - sent, loads(&mut admin) - loaded);
    assert!(sent < SCRIPTS + HERD * LITTLE, "{sent} bytes");
    if loaded > 0 {
        assert_eq!(loaded, Scripts::of(false).digests().len() as u64);
    }
    for peer in herd {
        peer.end().await;
    }
}

#[tokio::test]
async fn who_wanted_to_load_them_and_is_gone_is_not_waited_for_for_long() {
    let _watch = real_time();
    let server = Server::start();
    let mut admin = server.connection();
    let key = EpochKeys::new(vec!["auto_mutex:epoch".to_owned()]);
    let key = key.of_loading().unwrap();
    run::<()>(&mut admin, &["SET", &key, "gone", "PX", "700"]);
    set_up(&server).await;
    let keys: Vec<String> = run(&mut admin, &["KEYS", "*"]);
    assert_eq!(keys, ["auto_mutex:epoch"]);
}

#[tokio::test]
async fn scripts_that_another_client_has_loaded_are_not_waited_for() {
    let server = Server::start();
    let mut admin = server.connection();
    set_up(&server).await;
    let key = "auto_mutex:epoch:loading";
    run::<()>(&mut admin, &["SET", key, "another"]);
    let address = server.endpoint("").servers.remove(0);
    let opened = wire::Connection::open(&address, None, Limits::new(LONG, LONG)).await;
    let (mut connection, scripts) = (opened.unwrap(), Scripts::of(false));
    let missing = scripts.texts().collect();
    let member = MemberId::random();
    let supplied = loading::supply(&mut connection, &scripts, Some(key), member, missing);
    let supplied = Limits::new(LONG, LONG).within(supplied).await;
    assert!(supplied.is_ok(), "{supplied:?}");
}

#[tokio::test]
async fn a_server_that_cannot_keep_a_claim_gets_the_scripts_all_the_same() {
    let server = Server::start();
    let mut admin = server.connection();
    let mut peer = Peer::new(&server).await;
    run::<()>(&mut admin, &["CONFIG", "SET", "maxmemory", "1"]);
    run::<()>(&mut admin, &["SCRIPT", "FLUSH"]);
    run::<u32>(&mut admin, &["CLIENT", "KILL", "TYPE", "pubsub"]);
    peer.lost().await;
    peer.back().await;
    run::<()>(&mut admin, &["CONFIG", "SET", "maxmemory", "0"]);
    peer.works().await;
    peer.end().await;
}

#[test]
fn the_claim_is_in_the_slot_of_the_servers_own_key() {
    let keys = EpochKeys::new(vec!["auto_mutex:epoch:{x}".to_owned()]);
    assert_eq!(keys.of_loading().unwrap(), "auto_mutex:epoch:{x}:loading");
    assert_eq!(EpochKeys::new(Vec::new()).of_loading(), None);
}
