//! Tables of good and bad URLs.

use super::*;
use crate::config::endpoint::Tls;
use crate::config::secret::Secret;

fn redis(host: &str, port: u16, user: Option<&str>, password: Option<&str>, db: u32) -> Endpoint {
    Endpoint::Redis(RedisEndpoint {
        address: Address::Tcp {
            host: host.into(),
            port,
        },
        access: access(user, password, db),
    })
}

fn socket(path: &str, user: Option<&str>, password: Option<&str>, db: u32) -> Endpoint {
    Endpoint::Redis(RedisEndpoint {
        address: Address::Unix(path.into()),
        access: access(user, password, db),
    })
}

fn access(user: Option<&str>, password: Option<&str>, db: u32) -> Access {
    Access {
        login: Login {
            user: user.map(Secret::new),
            password: password.map(Secret::new),
            source: None,
        },
        db,
        ..Access::default()
    }
}

fn at(host: &str, port: u16) -> Address {
    Address::Tcp {
        host: host.into(),
        port,
    }
}

fn memory(shared: Option<&str>) -> Endpoint {
    Endpoint::Memory {
        shared: shared.map(Into::into),
    }
}

#[test]
fn good_urls() {
    let table = [
        ("memory://", memory(None)),
        ("memory://tests", memory(Some("tests"))),
        ("MEMORY://a%20b", memory(Some("a b"))),
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
        assert_eq!(parse(url).unwrap(), endpoint, "{url}");
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
        ("memory://a/b", "nothing but a name"),
        ("memory://?x=1", "nothing but a name"),
        ("memory://a%2", "hexadecimal"),
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
        ("rediss://h?ca=", "a file's"),
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
    let of = |sentinels: &[(&str, u16)], login: Access, service: &str, access: Access| {
        Endpoint::Sentinel(SentinelEndpoint {
            sentinels: sentinels
                .iter()
                .map(|(host, port)| at(host, *port))
                .collect(),
            login: login.login,
            service: service.into(),
            access,
        })
    };
    let nobody = access(None, None, 0);
    let table = [
        (
            "redis-sentinel://a,b:7,[::1]/mymaster",
            of(
                &[("a", 26379), ("b", 7), ("::1", 26379)],
                nobody.clone(),
                "mymaster",
                nobody.clone(),
            ),
        ),
        (
            "redis-sentinel://u:p@a/my%2Fmaster/3?sentinel_user=s&sentinel_pass=t",
            of(
                &[("a", 26379)],
                access(Some("s"), Some("t"), 0),
                "my/master",
                access(Some("u"), Some("p"), 3),
            ),
        ),
    ];
    for (url, endpoint) in table {
        assert_eq!(parse(url).unwrap(), endpoint, "{url}");
    }
}

#[test]
fn urls_of_clusters_and_quorums() {
    let cluster = ClusterEndpoint {
        nodes: vec![at("a", 6379), at("b", 7)],
        access: access(None, Some("p"), 0),
    };
    let url = "redis-cluster://:p@a,b:7/0";
    assert_eq!(parse(url).unwrap(), Endpoint::Cluster(cluster));
    let Endpoint::Quorum(quorum) = parse("redlock://u:p@a,b,c/2").unwrap() else {
        panic!("another kind");
    };
    let node = |host| RedisEndpoint {
        address: at(host, 6379),
        access: access(Some("u"), Some("p"), 2),
    };
    assert_eq!(quorum, ["a", "b", "c"].map(node));
}

#[test]
fn urls_with_tls() {
    let tls_of = |url| match parse(url).unwrap() {
        Endpoint::Redis(endpoint) => endpoint.access.transport.tls,
        Endpoint::Sentinel(endpoint) => endpoint.access.transport.tls,
        Endpoint::Cluster(endpoint) => endpoint.access.transport.tls,
        Endpoint::Quorum(nodes) => nodes[0].access.transport.tls.clone(),
        Endpoint::Memory { .. } => None,
    };
    let plain = Some(Tls::default());
    assert_eq!(tls_of("rediss://h"), plain);
    assert_eq!(tls_of("valkeys://h"), plain);
    assert_eq!(tls_of("valkey://h"), None);
    assert_eq!(tls_of("redis://h?tls=true"), plain);
    assert_eq!(tls_of("redis://h?tls=false"), None);
    assert_eq!(tls_of("redis-sentinel://h/s?tls=true"), plain);
    assert_eq!(tls_of("redis-cluster://h?tls=true"), plain);
    assert_eq!(tls_of("redlock://a,b,c?tls=true"), plain);
    let full = Tls {
        ca: Some("/a b.pem".into()),
        identity: Some(("/c.pem".into(), "/k.pem".into())),
        server_name: Some("redis.example".into()),
    };
    let url = "rediss://h?ca=/a%20b.pem&cert=/c.pem&key=/k.pem&server_name=redis.example";
    assert_eq!(tls_of(url), Some(full));
}

#[test]
fn a_quorum_of_urls() {
    let urls = ["redis://:one@a/1", "rediss://b:7", "unix:///s?pass=two"];
    let Endpoint::Quorum(quorum) = several(urls).unwrap() else {
        panic!("another kind");
    };
    let single = |url| match parse(url).unwrap() {
        Endpoint::Redis(server) => server,
        other => panic!("{other:?}"),
    };
    assert_eq!(quorum, urls.map(single));
    let bad: [&[&str]; 5] = [
        &[],
        &["redis://a", "redis://b"],
        &["redis://a", "redis://b", "redis://c", "redis://d"],
        &["redis://a", "redis://b", "redis://a/1"],
        &["redis://a", "redis://b", "redlock://c,d,e"],
    ];
    for urls in bad {
        let error = several(urls).unwrap_err();
        assert!(matches!(error, SetupError::InvalidUrl { .. }), "{urls:?}");
    }
}
