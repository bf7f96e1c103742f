//! Sentinels over TLS, and with users that have only the needed rights.

use auto_mutex::{Client, SetupError, acl_rule};
use auto_mutex_tests::authority::Authority;
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::sentinel::{NAME, Service, ServiceOptions};

use super::finding::{client, members};
use crate::rig::config;

async fn survives_a_failover(service: &Service, client: &Client) {
    let guard = soon("granted", client.mutex("m").lock()).await.unwrap();
    assert!(guard.unlock().await.unwrap());
    let primary = service.fail_over();
    becomes("it is there", async || {
        members(service.server(primary)) == 1
    })
    .await;
    drop(
        soon("granted again", client.mutex("m").lock())
            .await
            .unwrap(),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_and_servers_are_talked_to_by_tls() {
    let _watch = real_time();
    let authority = Authority::new();
    let service = Service::with(ServiceOptions::default().tls(&authority));
    survives_a_failover(&service, &client(&service.url())).await;
    // An untrusted certificate is reported as such, not as a sentinel that is down.
    let other = Authority::new();
    let (ca, wrong) = (authority.ca(), other.ca());
    let url = service.url();
    let url = url.replace(&*ca.to_string_lossy(), &wrong.to_string_lossy());
    let error = Client::connect(config(&url).connect_timeout("8s")).map(drop);
    let error = chain(&error.unwrap_err());
    assert!(error.contains("`ca`"), "{error}");
}

/// Makes a user with exactly the rights of `rule`.
fn allow(redis: &Redis, user: &str, rule: &str) {
    let command = format!("ACL SETUSER {user} reset on >least {rule}");
    let words: Vec<_> = command.split(' ').collect();
    redis.command(&words);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_for_servers_and_sentinels_suffice() {
    let _watch = real_time();
    let service = Service::start();
    let mut rule = acl_rule(service.url()).unwrap();
    if service.server(0).has_setinfo() {
        rule = rule.with_setinfo();
    }
    for server in service.servers() {
        allow(server, "locks", &rule.to_string());
    }
    let sentinels = rule.sentinels().unwrap();
    let all = |rule: &str| {
        for sentinel in service.sentinels() {
            allow(sentinel, "watch", rule);
        }
    };
    all(sentinels);
    let ports: Vec<_> = service.sentinels().iter().map(Redis::port).collect();
    let hosts: Vec<_> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let hosts = hosts.join(",");
    let url = format!(
        "redis-sentinel://locks:least@{hosts}/{NAME}?sentinel_user=watch&sentinel_pass=least"
    );
    survives_a_failover(&service, &client(&url)).await;
    // No request of the library was refused.
    for sentinel in service.sentinels() {
        assert_eq!(sentinel.command(&["ACL", "LOG"]).list().len(), 0);
    }
    for server in service.servers() {
        assert_eq!(server.command(&["ACL", "LOG"]).list().len(), 0);
    }
    all(&sentinels.replace("+sentinel|master", ""));
    let error = Client::connect(config(&url).connect_timeout("8s")).map(drop);
    let error = error.unwrap_err();
    assert!(matches!(error, SetupError::Permission { .. }), "{error:?}");
}
