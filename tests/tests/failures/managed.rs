//! Managed services, proxies and Redis-like products: if they refuse a command, the error or warning says what to do.
//!
//! Renamed commands and missing rights are tested with a real server. Servers that cannot run here are imitated, with
//! their documented answers:
//!
//! - `CONFIG` of ElastiCache and Memorystore: spring-data-redis issue 2894 (2024), spinnaker issue 5517 (2020).
//! - Redis Enterprise, which Redis Cloud and Azure Managed Redis run: "Compatibility with Redis Open Source" in its
//!   documentation (`operate/rs/references/compatibility`, June 2026): no INFO in scripts, few settings, no SELECT,
//!   WAIT only in some plans, RESP3 by database. The text of the error: asynqmon issue 210 (2022).
//! - Dragonfly: dragonfly pull request 3245 (2024) for undeclared keys; its documentation of commands (June 2026): no
//!   WAIT.

use auto_mutex::operator::Operator;
use auto_mutex::{AfterFailover, Client, SetupError, Weakness};
use auto_mutex_tests::chain;
use auto_mutex_tests::managed::Managed;
use auto_mutex_tests::redis::{Options, Redis};

use crate::rig::config;

/// Checks that set-up fails, and that the error contains all `parts`.
#[track_caller]
fn refused(url: &str, parts: &[&str]) -> String {
    let error = Client::connect(config(url)).map(drop).unwrap_err();
    let text = chain(&error);
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    assert!(!format!("{text} {error:?}").contains("canary"), "{text}");
    text
}

/// Checks that set-up and locks work, and that the weaknesses contain all `parts`.
#[track_caller]
fn works(url: &str, parts: &[&str]) -> Vec<Weakness> {
    let client = Client::connect(config(url)).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let guard = client.mutex("m").blocking_lock().expect("the lock");
    assert!(guard.blocking_unlock().expect("an answer"));
    let weaknesses = client.guarantees().weaknesses();
    let said: Vec<_> = weaknesses.iter().map(ToString::to_string).collect();
    let said = said.join("\n");
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    weaknesses
}

fn renamed(command: &str) -> Redis {
    let line = format!("rename-command {command} \"\"");
    Redis::with(Options::default().persistent().line(&line))
}

/// If the service has disabled a command, asking for the right to it does not help, so the warning does not mention
/// rights.
#[test]
fn a_disabled_config_is_no_matter_of_rights() {
    let server = renamed("CONFIG");
    let warned = works(
        &server.url(),
        &["does not answer CONFIG GET", "managed services", "settings"],
    );
    let other = Redis::with(Options::default().persistent());
    let elasticache = Managed::refusing(
        &other,
        &[(
            "CONFIG",
            "ERR unknown command 'CONFIG', with args beginning with: 'GET' 'notify-keyspace-events' ",
        )],
    );
    let enterprise = Managed::refusing(&other, &[("CONFIG", "ERR unsupported CONFIG parameter")]);
    let upstash = Managed::start(&other, |words| {
        (words[0] == "CONFIG").then(|| "*0\r\n".to_owned())
    });
    for url in [elasticache.url(), enterprise.url(), upstash.url()] {
        assert_eq!(works(&url, &["does not answer CONFIG GET"]), warned);
    }
    for weakness in warned {
        let text = weakness.to_string();
        assert!(!text.contains("lacks"), "{text}");
    }
}

/// If a needed command is renamed, the error names the command, or `acl_rule`, which lists all needed commands.
#[test]
fn a_renamed_command_is_named() {
    for command in ["SCRIPT", "EVALSHA", "SUBSCRIBE"] {
        let server = renamed(command);
        refused(
            &server.url(),
            &["rename-command", "acl_rule", "unknown command", command],
        );
    }
    // Scripts call these commands, and the script's error does not name the command.
    for command in ["INFO", "TIME", "PUBLISH", "PEXPIRE", "ZADD"] {
        let server = renamed(command);
        refused(&server.url(), &["rename-command", "acl_rule"]);
    }
}

#[test]
fn a_proxy_that_speaks_resp2_only_is_told_as_such() {
    let server = Redis::start();
    let answers = &[("HELLO", "NOPROTO unsupported protocol version")];
    let proxy = Managed::refusing(&server, answers);
    refused(&proxy.url(), &["RESP2 only", "RESP3", "proxy", "NOPROTO"]);
    // The answer of Envoy.
    let answers = &[("HELLO", "ERR unsupported command 'hello' canary")];
    let proxy = Managed::refusing(&server, answers);
    let url = proxy.url().replace("redis://", "redis://:canary@");
    refused(&url, &["does not know HELLO", "RESP2 only", "proxy", "6.2"]);
    // twemproxy closes the connection.
    let proxy = Managed::start(&server, |words| (words[0] == "HELLO").then(String::new));
    refused(&proxy.url(), &["at HELLO 3", "RESP2 only"]);
    let server = renamed("HELLO");
    refused(&server.url(), &["does not know HELLO", "renamed"]);
}

/// Redis Enterprise refuses INFO in scripts, so scripts could not notice a failover of a shard, and set-up fails.
#[test]
fn a_server_that_refuses_info_in_scripts_is_told_with_its_name() {
    let server = Redis::start();
    let enterprise = Managed::start(&server, |words| {
        let text = "ERR This Redis command is not allowed from script script: 7574d838, on @user_script:19.";
        (words[0] == "EVALSHA").then(|| format!("-{text}\r\n"))
    });
    refused(
        &enterprise.url(),
        &[
            "Redis Enterprise",
            "INFO in scripts",
            "use Redis or Valkey",
            "Config::trust_failover",
        ],
    );
}

/// An imitation of Redis Enterprise: a user whose scripts may not call INFO, while the proxy answers INFO itself.
fn enterprise() -> (Redis, Managed) {
    let redis = Redis::with(Options::default().persistent());
    redis.command(&["ACL", "SETUSER", "default", "-info"]);
    let proxy = Managed::start(&redis, |words| {
        let info = "# Server\r\nredis_version:7.4.0\r\n# Replication\r\nrole:master\r\nconnected_slaves:1\r\n";
        (words[0] == "INFO").then(|| format!("${}\r\n{info}\r\n", info.len()))
    });
    (redis, proxy)
}

#[test]
fn a_failover_that_is_trusted_lets_a_server_without_info_serve() {
    let (_redis, proxy) = enterprise();
    let trusting = || config(&proxy.url()).trust_failover(true);
    let client = Client::connect(trusting()).unwrap_or_else(|error| panic!("{}", chain(&error)));
    assert_eq!(client.guarantees().failover, AfterFailover::Trusted);
    let weaknesses = client.guarantees().weaknesses();
    assert!(weaknesses.contains(&Weakness::FailoverTrusted));
    let guard = client.mutex("m").blocking_lock().unwrap();
    let other = Client::connect(trusting()).unwrap();
    let busy = other.mutex("m").blocking_try_lock().unwrap();
    assert!(busy.is_none());
    let earlier = guard.fencing_token();
    assert!(guard.blocking_unlock().unwrap());
    let guard = other.mutex("m").blocking_lock().unwrap();
    assert!(guard.fencing_token() > earlier);
    // An operator, who takes no lock, needs no such setting.
    let operator = Operator::connect(config(&proxy.url())).unwrap();
    let names: Vec<_> = operator.names("*").map(Result::unwrap).collect();
    assert_eq!(names.concat(), ["suite:m"]);
    // What needs INFO is refused.
    for demanding in [config(&proxy.url()), trusting().restart_guard(true)] {
        let refused = Client::connect(demanding).map(drop);
        assert!(
            matches!(refused, Err(SetupError::Permission { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn replicas_without_wait_are_refused_with_what_to_do() {
    let server = Redis::start();
    let dragonfly = Managed::refusing(
        &server,
        &[(
            "WAIT",
            "ERR unknown command `WAIT`, with args beginning with: ",
        )],
    );
    let error = Client::connect(config(&dragonfly.url()).replicas(1, "1s"));
    let text = chain(&error.map(drop).unwrap_err());
    assert!(text.contains("leave out `Config::replicas`"), "{text}");
    works(&dragonfly.url(), &[]);
}

/// Redis Enterprise has one database for each endpoint.
#[test]
fn a_database_where_there_is_only_one_is_refused_with_what_to_do() {
    let server = Redis::start();
    let enterprise = Managed::refusing(&server, &[("SELECT", "ERR SELECT is not allowed")]);
    let url = format!("{}/3", enterprise.url());
    refused(
        &url,
        &[
            "no database 3",
            "the number in the URL",
            "SELECT is not allowed",
        ],
    );
}
