//! Set-up finds out what a server guarantees, whichever setting weakens it.

use std::time::Duration;

use auto_mutex::{
    AfterFailover, AfterRestart, Client, Config, Eviction, Guarantees, Weakness, acl_rule,
};
use auto_mutex_tests::cluster::Cluster;
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::stores::quorum_url;

use crate::rig::config;

fn of(redis: &Redis) -> Guarantees {
    Client::connect(config(&redis.url())).unwrap().guarantees()
}

fn with(options: Options) -> Guarantees {
    of(&Redis::with(options))
}

#[test]
fn a_server_that_keeps_everything_has_no_weakness() {
    let found = with(Options::default().persistent());
    assert_eq!(found.restart, AfterRestart::Kept);
    assert_eq!(found.failover, AfterFailover::NoReplicas);
    assert_eq!(found.eviction, Eviction::Never);
    assert!(found.fifo && found.fencing_tokens && found.replicas == 0);
    assert!(found.missing_rights.is_empty(), "{found:?}");
    assert_eq!(found.weaknesses(), []);
}

#[test]
fn how_much_a_restart_forgets_is_known() {
    let cases = [
        ("", AfterRestart::Forgotten, Weakness::RestartForgets),
        (
            "save 60 1",
            AfterRestart::LastForgotten,
            Weakness::RestartForgetsLast,
        ),
        (
            "appendonly yes\nappendfsync everysec",
            AfterRestart::LastForgotten,
            Weakness::RestartForgetsLast,
        ),
        (
            "appendonly yes\nappendfsync no",
            AfterRestart::LastForgotten,
            Weakness::RestartForgetsLast,
        ),
    ];
    for (lines, restart, weakness) in cases {
        let found = with(Options::default().line(lines));
        assert_eq!(found.restart, restart, "{lines}");
        assert_eq!(found.weaknesses(), [weakness], "{lines}");
    }
}

#[test]
fn a_server_that_evicts_is_known() {
    let policy = "maxmemory-policy volatile-ttl";
    let name = "volatile-ttl".to_owned();
    let found = with(Options::default().persistent().line(policy));
    assert_eq!(
        found.eviction,
        Eviction::NoLimit {
            policy: name.clone()
        }
    );
    assert_eq!(found.weaknesses(), []);
    let options = Options::default().persistent().line(policy);
    let found = with(options.line("maxmemory 100mb"));
    assert_eq!(
        found.eviction,
        Eviction::Possible {
            policy: name.clone()
        }
    );
    assert_eq!(found.weaknesses(), [Weakness::Eviction { policy: name }]);
}

#[test]
fn the_restart_guard_makes_good_for_data_that_is_not_kept() {
    let redis = Redis::start();
    let guarded = |config: Config| {
        let client = Client::connect(config.restart_guard(true)).unwrap();
        let found = client.guarantees();
        assert_eq!(found.weaknesses(), []);
        found.restart
    };
    let time = Duration::from_secs(42);
    assert_eq!(guarded(config(&redis.url())), AfterRestart::Closed { time });
    let time = Duration::from_secs(17);
    let short = config(&redis.url()).lease("5s").longest_lease("5s");
    assert_eq!(guarded(short), AfterRestart::Closed { time });
    let kept = Redis::with(Options::default().persistent());
    assert_eq!(guarded(config(&kept.url())), AfterRestart::Kept);
}

/// A primary whose locks survive a restart, and its replica.
fn pair() -> (Redis, Redis) {
    let rule = acl_rule("redis://h").unwrap().without_optional();
    let options = Options::default().persistent();
    let options = options.line("repl-diskless-sync-delay 0");
    let primary = Redis::with(options.user("locks", "least", &rule.to_string()));
    let replica = format!("replicaof 127.0.0.1 {}", primary.port());
    let replica = Redis::with(Options::default().line(&replica));
    eventually("the replica is there", || {
        primary.info("connected_slaves") == "1"
    });
    (primary, replica)
}

#[test]
fn an_old_primary_that_is_cut_off_must_stop() {
    let (primary, _replica) = pair();
    let url = format!("redis://127.0.0.1:{}", primary.port());
    let found = |config: Config| Client::connect(config).unwrap().guarantees();
    let usual = found(config(&url));
    let time = Duration::from_secs(42);
    assert_eq!(usual.failover, AfterFailover::OldPrimaryGoesOn { time });
    assert_eq!(usual.weaknesses(), [Weakness::OldPrimaryGoesOn]);
    primary.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    primary.command(&["CONFIG", "SET", "min-replicas-max-lag", "2"]);
    eventually("the replica keeps up", || {
        primary.info("min_slaves_good_slaves") == "1"
    });
    let short = config(&url)
        .lease("5s")
        .longest_lease("5s")
        .replicas(1, "1s");
    let short = found(short);
    let time = Duration::from_secs(9);
    assert_eq!(short.failover, AfterFailover::Closed { time });
    assert_eq!(short.weaknesses(), []);
    assert_eq!(short.replicas, 1);
    let text = short.to_string();
    assert!(
        text.contains("after a failover: nothing is granted for 9s"),
        "{text}"
    );
}

#[test]
fn what_is_not_known_is_said() {
    let (primary, _replica) = pair();
    let found = of(&primary);
    assert_eq!(found.restart, AfterRestart::Unknown);
    assert_eq!(found.failover, AfterFailover::Unknown);
    assert_eq!(found.eviction, Eviction::Never);
    assert_eq!(found.missing_rights, ["config|get"].into());
    let weaknesses = found.weaknesses();
    assert_eq!(weaknesses.len(), 2);
    for weakness in weaknesses {
        let text = weakness.to_string();
        assert!(text.contains("lacks +config|get"), "{text}");
    }
}

#[test]
fn of_a_quorum_the_weakest_counts() {
    let servers: Vec<_> = (0..3)
        .map(|index| {
            let options = Options::default();
            Redis::with(if index > 0 {
                options.persistent()
            } else {
                options
            })
        })
        .collect();
    let config = || {
        let url = quorum_url(servers.iter().map(Redis::port));
        config(&url).restart_guard(false)
    };
    let client = Client::connect(config()).unwrap();
    // A quorum does not wait for a late server.
    eventually("the weakest is found", || {
        client.guarantees().restart == AfterRestart::Forgotten
    });
    let found = client.guarantees();
    assert_eq!(found.failover, AfterFailover::NoReplicas);
    assert!(!found.fifo && found.fencing_tokens);
    // A quorum tolerates a server that is down.
    servers[0].kill9();
    let found = Client::connect(config()).unwrap().guarantees();
    assert_eq!(found.restart, AfterRestart::Kept);
    assert_eq!(found.weaknesses(), []);
}

/// Makes a server evict locks when its memory is full.
fn evicts(redis: &Redis) {
    for setting in [["maxmemory-policy", "allkeys-lru"], ["maxmemory", "1gb"]] {
        redis.command(&[&["CONFIG", "SET"], &setting[..]].concat());
    }
}

fn becomes_one_that_evicts(client: &Client) {
    eventually("the guarantees are those of the new primary", || {
        matches!(client.guarantees().eviction, Eviction::Possible { .. })
    });
}

#[test]
fn of_a_cluster_they_are_those_of_its_present_primaries() {
    let cluster = Cluster::start();
    let primary = cluster.primary_of(0).unwrap();
    let client = Client::connect(config(&cluster.url()).restart_guard(false)).unwrap();
    assert_eq!(client.guarantees().eviction, Eviction::Never);
    let others = cluster.nodes().iter().enumerate();
    for (index, node) in others.filter(|(index, _)| *index != primary) {
        if (0..3).all(|home| cluster.primary_of(home) != Some(index)) {
            evicts(node);
        }
    }
    cluster.fail_over(0);
    becomes_one_that_evicts(&client);
}

#[test]
fn a_replica_that_comes_later_is_known() {
    let primary = Redis::with(Options::default().line("repl-diskless-sync-delay 0"));
    let client = Client::connect(config(&primary.url())).unwrap();
    assert_eq!(client.guarantees().failover, AfterFailover::NoReplicas);
    let replica = format!("replicaof 127.0.0.1 {}", primary.port());
    let _replica = Redis::with(Options::default().line(&replica));
    eventually("it is known", || {
        client.guarantees().failover != AfterFailover::NoReplicas
    });
    let weaknesses = client.guarantees().weaknesses();
    assert!(
        weaknesses.contains(&Weakness::OldPrimaryGoesOn),
        "{weaknesses:?}"
    );
}
