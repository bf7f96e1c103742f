//! What a server really gives is found out at set-up, whatever weakens it.

use auto_mutex::{AfterFailover, AfterRestart, Client, Eviction, Guarantees, Weakness, acl_rule};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::{Options, Redis};

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
fn a_server_with_replicas_may_be_replaced() {
    let primary = Redis::with(Options::default().persistent());
    let replica = format!("replicaof 127.0.0.1 {}", primary.port());
    let _replica = Redis::with(Options::default().line(&replica));
    eventually("the replica is there", || {
        primary.info("connected_slaves") == "1"
    });
    let found = of(&primary);
    assert_eq!(found.failover, AfterFailover::Forgotten);
    assert_eq!(found.weaknesses(), [Weakness::FailoverForgets]);
    let client = Client::connect(config(&primary.url()).replicas(1, 1)).unwrap();
    assert_eq!(client.guarantees().replicas, 1);
}

#[test]
fn what_is_not_known_is_said() {
    let rule = acl_rule("redis://h")
        .unwrap()
        .without_optional()
        .to_string();
    let options = || Options::default().persistent();
    let found = with(options().user("locks", "least", &rule));
    assert_eq!(found.restart, AfterRestart::Unknown);
    assert_eq!(found.missing_rights.iter().last(), Some(&"info"));
    for weakness in found.weaknesses() {
        let text = weakness.to_string();
        assert!(text.contains("+config|get +info"), "{text}");
    }
    // Each right tells a part.
    let found = with(options().user("locks", "least", &format!("{rule} +info")));
    assert_eq!(found.eviction, Eviction::Never);
    assert_eq!(found.restart, AfterRestart::Unknown);
    assert_eq!(found.missing_rights, ["config|get"].into());
    let found = with(options().user("locks", "least", &format!("{rule} +config|get")));
    assert_eq!(found.eviction, Eviction::Unknown);
    assert_eq!(found.missing_rights, ["info"].into());
}
