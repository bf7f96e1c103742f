//! Tables of good and bad URLs.

use super::*;

fn redis(host: &str, port: u16, user: Option<&str>, password: Option<&str>, db: u32) -> Endpoint {
    Endpoint::Redis(RedisEndpoint {
        address: Address::Tcp {
            host: host.into(),
            port,
        },
        user: user.map(Secret::new),
        password: password.map(Secret::new),
        db,
    })
}

fn socket(path: &str, user: Option<&str>, password: Option<&str>, db: u32) -> Endpoint {
    Endpoint::Redis(RedisEndpoint {
        address: Address::Unix(path.into()),
        user: user.map(Secret::new),
        password: password.map(Secret::new),
        db,
    })
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
        ("redis://[::1]6379", "only a port"),
        ("redis://a b", "character that no host name has"),
        ("redis://h1,h2", "character that no host name has"),
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
fn stores_that_come_later_say_so() {
    for scheme in [
        "rediss",
        "redis-sentinel",
        "redis-cluster",
        "redlock",
        "REDISS",
    ] {
        let error = parse(&format!("{scheme}://u:canary@h1,h2/db")).unwrap_err();
        assert!(
            matches!(&error, SetupError::UnsupportedStore { scheme: s, .. } if *s == scheme.to_lowercase())
        );
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}
