//! Tables of good and bad URLs.

use auto_mutex_seam::Config;
use auto_mutex_seam::store::{Engine, Secret, parse, same_kind};
// For the URLs of quorums.
use auto_mutex_quorum as _;

use super::*;
use crate::login::renewal::Login;
#[cfg(feature = "tls-no-provider")]
use auto_mutex_net::socket::Tls;

/// The engine of a URL, if it is of Redis.
fn parsed(url: &str) -> RedisEndpoint {
    let engine = parse(url).unwrap();
    let kind = same_kind::<RedisEndpoint>(&*engine);
    kind.unwrap_or_else(|| panic!("{url}: {engine:?}")).clone()
}

fn redis(
    host: &str,
    port: u16,
    user: Option<&str>,
    password: Option<&str>,
    db: u32,
) -> RedisEndpoint {
    with_login(user, password, db, Layout::OneServer, vec![at(host, port)])
}

fn socket(path: &str, user: Option<&str>, password: Option<&str>, db: u32) -> RedisEndpoint {
    let address = Address::Unix(path.into());
    with_login(user, password, db, Layout::OneServer, vec![address])
}

fn with_login(
    user: Option<&str>,
    password: Option<&str>,
    db: u32,
    layout: Layout,
    servers: Vec<Address>,
) -> RedisEndpoint {
    RedisEndpoint {
        login: login(user, password),
        db,
        ..RedisEndpoint::new(layout, servers)
    }
}

fn login(user: Option<&str>, password: Option<&str>) -> Login {
    Login {
        user: user.map(Secret::new),
        password: password.map(Secret::new),
        source: None,
    }
}

fn at(host: &str, port: u16) -> Address {
    Address::Tcp {
        host: host.into(),
        port,
    }
}

#[test]
fn good_urls() {
    let table = [
        ("redis://localhost", redis("localhost", 6379, None, None, 0)),
        ("Redis://h:1", redis("h", 1, None, None, 0)),
        ("redis://h:65535/", redis("h", 65535, None, None, 0)),
        (
            "redis://127.0.0.1:7000/15",
            redis("127.0.0.1", 7000, None, None, 15),
        ),
        ("redis://[::1]", redis("::1", 6379, None, None, 0)),
        (
            "redis://u:p@[fe80::1]:7/2",
            redis("fe80::1", 7, Some("u"), Some("p"), 2),
        ),
        (
            "redis://[fe80::1%25eth0]:7",
            redis("fe80::1%eth0", 7, None, None, 0),
        ),
        (
            "redis://:p%25@[::1%251]",
            redis("::1%1", 6379, None, Some("p%"), 0),
        ),
        ("valkey://u:p@h:7/2", redis("h", 7, Some("u"), Some("p"), 2)),
        ("valkey+unix:///r", socket("/r", None, None, 0)),
        (
            "redis://my_host.example-1.org",
            redis("my_host.example-1.org", 6379, None, None, 0),
        ),
        (
            "redis://:secret@h",
            redis("h", 6379, None, Some("secret"), 0),
        ),
        (
            "redis://user:secret@h",
            redis("h", 6379, Some("user"), Some("secret"), 0),
        ),
        (
            "redis://user@h",
            redis("h", 6379, Some("user"), Some(""), 0),
        ),
        ("redis://:@h", redis("h", 6379, None, None, 0)),
        ("redis://@h", redis("h", 6379, None, None, 0)),
        (
            "redis://u%3A:p%40%2F%3F%23%25@h",
            redis("h", 6379, Some("u:"), Some("p@/?#%"), 0),
        ),
        (
            "redis://u:a:b@c@h:5",
            redis("h", 5, Some("u"), Some("a:b@c"), 0),
        ),
        ("redis://:p+q@h", redis("h", 6379, None, Some("p+q"), 0)),
        ("redis://h?protocol=resp3", redis("h", 6379, None, None, 0)),
        ("redis://h/3?protocol=3", redis("h", 6379, None, None, 3)),
        ("redis://h?", redis("h", 6379, None, None, 0)),
        (
            "unix:///run/redis.sock",
            socket("/run/redis.sock", None, None, 0),
        ),
        ("redis+unix:///r?db=4", socket("/r", None, None, 4)),
        (
            "unix:///a%20b?user=u&pass=p%26q&db=1&protocol=resp3",
            socket("/a b", Some("u"), Some("p&q"), 1),
        ),
        ("unix:///r?pass=p+q", socket("/r", None, Some("p+q"), 0)),
        ("unix:///r?user=u", socket("/r", Some("u"), Some(""), 0)),
    ];
    for (url, endpoint) in table {
        assert_eq!(parsed(url), endpoint, "{url}");
    }
}

#[test]
fn bad_urls() {
    let table = [
        ("", "no scheme"),
        ("localhost:6379", "no scheme"),
        ("redis:/h", "no scheme"),
        ("http://h", "scheme is unknown"),
        ("://h", "scheme is unknown"),
        ("redis://", "host is missing"),
        ("redis:///0", "host is missing"),
        ("redis://:canary@/0", "host is missing"),
        ("redis://:6379", "host is missing"),
        ("redis://h:", "port"),
        ("redis://h:0", "port"),
        ("redis://h:65536", "port"),
        ("redis://h:+1", "port"),
        ("redis://h:canary", "port"),
        ("redis://::1", "host is missing"),
        ("redis://fe80::1", "port"),
        ("redis://[::1", "closing bracket"),
        ("redis://[canary]", "not an IPv6 address"),
        ("redis://[canary%25eth0]", "not an IPv6 address"),
        ("redis://[fe80::1%canary]", "after `%25`"),
        ("redis://[fe80::1%]", "after `%25`"),
        ("redis://[fe80::1%25]", "after `%25`"),
        ("redis://[fe80::1%25canary%2F]", "after `%25`"),
        ("redis://[fe80::1%25canary%zz]", "hexadecimal"),
        ("valkey-cluster://h", "scheme is unknown"),
        ("redis://[::1]6379", "only a port"),
        ("redis://a b", "character that no host name has"),
        ("redis://h1,h2", "several servers"),
        ("redis://a%20b", "character that no host name has"),
        ("redis://h/canary", "database"),
        ("redis://h/-1", "database"),
        ("redis://h/1/", "database"),
        ("redis://h/2147483648", "database"),
        ("redis://h/99999999999999999999", "database"),
        ("redis://u:canary/x@h", "port"),
        ("redis://u:canary?x@h", "port"),
        ("redis://u:canary#x@h", "`#`"),
        ("redis://u:canary%@h", "hexadecimal"),
        ("redis://u:canary%zz@h", "hexadecimal"),
        ("redis://u:canary%ff@h", "UTF-8"),
        ("redis://h?canary=1", "parameter is unknown"),
        ("redis://h?db=1", "parameter is unknown"),
        ("redis://h?protocol=resp2", "must be `resp3`"),
        ("redis://h?protocol=3&protocol=3", "twice"),
        ("unix://", "absolute"),
        ("unix:///", "socket"),
        ("unix://canary/sock", "absolute"),
        ("unix://u:canary@/sock", "absolute"),
        ("unix:///r%00", "socket"),
        ("unix:///r?db=canary", "database"),
        ("unix:///r?password=canary", "parameter is unknown"),
        ("unix:///r#canary", "`#`"),
        ("unix:///r?tls=true", "parameter is unknown"),
        ("rediss://h?tls=false", "contradicts"),
        ("redis://h?tls=canary", "`true` or `false`"),
        ("redis://h?ca=/canary", "need TLS"),
        ("rediss://h?cert=/canary", "together"),
        ("rediss://h?key=/canary", "together"),
        ("rediss://h?ca=", "not a file path"),
        ("redis-sentinel://h", "service is missing"),
        ("redis-sentinel://h/", "service is missing"),
        ("redis-sentinel:///canary", "host is missing"),
        ("redis-sentinel://h/a%20canary", "service is missing"),
        ("redis-sentinel://h/s/canary", "database"),
        ("redis-sentinel://h,/s", "host is missing"),
        ("redis-cluster://h/1", "no databases"),
        ("redis-cluster://h?db=1", "parameter is unknown"),
        ("redlock://a", "3, 5, 7"),
        ("redlock://a,b", "3, 5, 7"),
        ("redlock://a,b,c,d", "3, 5, 7"),
        ("redlock://a,b,a", "twice"),
    ];
    for (url, reason) in table {
        let error = parse(url).unwrap_err();
        assert!(
            matches!(error, SetupError::InvalidUrl { .. }),
            "{url}: {error:?}"
        );
        let text = format!("{error} {error:?}");
        assert!(text.contains(reason), "{url}: {text}");
        assert!(!text.contains("canary"), "{url}: {text}");
    }
}

#[test]
fn urls_of_sentinels() {
    let of = |sentinels: &[(&str, u16)], sentinel_login, service: &str, login, db| {
        let servers = sentinels.iter().map(|(host, port)| at(host, *port));
        RedisEndpoint {
            sentinel_login,
            service: service.into(),
            login,
            db,
            ..RedisEndpoint::new(Layout::Failover, servers.collect())
        }
    };
    let table = [
        (
            "redis-sentinel://a,b:7,[::1]/mymaster",
            of(
                &[("a", 26379), ("b", 7), ("::1", 26379)],
                Login::default(),
                "mymaster",
                Login::default(),
                0,
            ),
        ),
        (
            "redis-sentinel://u:p@a/my%2Fmaster/3?sentinel_user=s&sentinel_pass=t",
            of(
                &[("a", 26379)],
                login(Some("s"), Some("t")),
                "my/master",
                login(Some("u"), Some("p")),
                3,
            ),
        ),
    ];
    for (url, endpoint) in table {
        assert_eq!(parsed(url), endpoint, "{url}");
    }
}

#[test]
fn urls_of_clusters_and_quorums() {
    let nodes = vec![at("a", 6379), at("b", 7)];
    let cluster = with_login(None, Some("p"), 0, Layout::Sharded, nodes);
    let url = "redis-cluster://:p@a,b:7/0";
    assert_eq!(parsed(url), cluster);
    let node = |host| redis(host, 6379, Some("u"), Some("p@x"), 2);
    let quorum = parse("redlock://u:p@x@a,b,c/2?protocol=resp3").unwrap();
    assert_eq!(servers_of(&*quorum), ["a", "b", "c"].map(node));
}

/// The servers of a quorum.
fn servers_of(quorum: &dyn Engine) -> Vec<RedisEndpoint> {
    let parts = quorum.parts().iter();
    let parts = parts.map(|part| same_kind::<RedisEndpoint>(&**part).unwrap().clone());
    parts.collect()
}

#[test]
#[cfg(feature = "tls-no-provider")]
fn urls_with_tls() {
    let plain = Some(Tls::default());
    let single = |url: &str| parsed(url).tls;
    assert_eq!(single("rediss://h"), plain);
    assert_eq!(single("valkeys://h"), plain);
    assert_eq!(single("valkey://h"), None);
    assert_eq!(single("redis://h?tls=true"), plain);
    assert_eq!(single("redis://h?tls=false"), None);
    let sentinel = parsed("redis-sentinel://h/s?tls=true");
    assert_eq!(sentinel.tls, plain);
    let cluster = parsed("redis-cluster://h?tls=true");
    assert_eq!(cluster.tls, plain);
    let quorum = parse("redlock://a,b,c?tls=true").unwrap();
    let nodes = servers_of(&*quorum);
    assert!(nodes.iter().all(|node| node.tls == plain));
    let full = Tls {
        ca: Some("/a b.pem".into()),
        identity: Some(("/c.pem".into(), "/k.pem".into())),
        server_name: Some("redis.example".into()),
        ..Tls::default()
    };
    let url = "rediss://h?ca=/a%20b.pem&cert=/c.pem&key=/k.pem&server_name=redis.example";
    assert_eq!(single(url), Some(full));
}

#[test]
#[cfg(not(feature = "tls-no-provider"))]
fn without_tls_a_url_that_asks_for_it_is_refused() {
    for url in [
        "rediss://h",
        "redis://h?tls=true",
        "redis-sentinel://h/s?tls=true",
        "redis-cluster://h?tls=true",
        "redlock://a,b,c?tls=true",
    ] {
        let Err(SetupError::UnsupportedStore { reason, .. }) = parse(url) else {
            panic!("{url}");
        };
        assert!(reason.contains("--features tls`"), "{reason}");
    }
}

#[test]
fn a_quorum_of_urls() {
    let urls = ["redis://:one@a/1", "redis://b:7", "unix:///s?pass=two"];
    let quorum = Config::quorum(urls).unwrap().validate().unwrap().engine;
    assert_eq!(servers_of(&*quorum), urls.map(parsed));
    let bad: [&[&str]; 6] = [
        &[],
        &["redis://a", "redis://b"],
        &["redis://a", "redis://b", "redis://c", "redis://d"],
        &["redis://a", "redis://b", "redis://a/1"],
        &["redis://a", "redis://b", "redlock://c,d,e"],
        &["redis://a", "redis://b", "memory://c"],
    ];
    for urls in bad {
        let error = Config::quorum(urls).unwrap_err();
        assert!(matches!(error, SetupError::InvalidUrl { .. }), "{urls:?}");
    }
}
