//! How the guarantees of several servers combine, and how they are displayed.

use std::time::Duration;

use super::*;

#[test]
fn of_several_servers_the_weakest_counts() {
    let strong = Guarantees {
        restart: AfterRestart::Kept,
        replicas: 2,
        ..Guarantees::of_memory()
    };
    let weak = Guarantees {
        restart: AfterRestart::Forgotten,
        eviction: Eviction::Possible {
            policy: "allkeys-lru".to_owned(),
        },
        replicas: 1,
        fifo: false,
        missing_rights: ["info"].into(),
        ..Guarantees::of_memory()
    };
    for both in [
        strong.clone().and(weak.clone()),
        weak.clone().and(strong.clone()),
    ] {
        assert_eq!(both, weak);
    }
    assert_eq!(strong.clone().and(strong.clone()), strong);
    let unknown = Guarantees::unknown();
    let all = weak.and(unknown);
    assert_eq!(all.eviction, Eviction::Unknown);
    assert_eq!(all.restart, AfterRestart::Unknown);
}

#[test]
fn what_is_good_is_no_weakness() {
    let time = Duration::from_secs(31);
    for restart in [AfterRestart::Kept, AfterRestart::Closed { time }] {
        for failover in [AfterFailover::NoReplicas, AfterFailover::Closed { time }] {
            let good = Guarantees {
                restart: restart.clone(),
                failover,
                ..Guarantees::of_memory()
            };
            assert_eq!(good.weaknesses(), []);
        }
    }
}

#[test]
fn what_is_not_known_names_the_rights_that_would_tell() {
    let unknown = Guarantees {
        missing_rights: ["config|get", "info"].into(),
        ..Guarantees::unknown()
    };
    let weaknesses = unknown.weaknesses();
    assert_eq!(weaknesses.len(), 3);
    for weakness in &weaknesses {
        assert!(
            weakness.to_string().contains("+config|get +info"),
            "{weakness}"
        );
    }
    assert!(
        unknown
            .to_string()
            .ends_with("missing to know more: +config|get +info")
    );
}

#[test]
fn it_is_one_line_of_a_log() {
    let text = Guarantees::of_memory().to_string();
    assert_eq!(
        text,
        "after a restart of the server: there is no server; after a failover: there are no replicas; eviction: never; \
         order of waiters: first come, first served; fencing tokens: grow with every grant"
    );
}
