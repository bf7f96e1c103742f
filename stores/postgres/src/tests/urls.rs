//! What a URL means, and what is wrong with it.

use std::time::Duration;

use auto_mutex_seam::store::{Engine as _, Layout};

use crate::engine::{Postgres, TlsMode};
use crate::url;

fn parse(rest: &str) -> Postgres {
    let engine = url::parse("postgres", rest).unwrap();
    auto_mutex_seam::store::same_kind::<Postgres>(&*engine)
        .unwrap()
        .clone()
}

#[test]
fn usual_urls_are_understood() {
    for (url, servers, database) in [
        ("u@host/db", "host:5432", Some("db")),
        ("u:p%40ss@host:5433/db", "host:5433", Some("db")),
        ("u:p@ss@host", "host:5432", Some("u")),
        ("host", "host:5432", None),
        ("a,b:1,[::1]:2/db", "a:5432,b:1,[::1]:2", Some("db")),
        (
            "/db?host=/run/postgresql",
            "/run/postgresql/.s.PGSQL.5432",
            Some("db"),
        ),
        ("%2Frun%2Fpg:7/db", "/run/pg/.s.PGSQL.7", Some("db")),
        ("?host=a,b&port=1,2&dbname=db", "a:1,b:2", Some("db")),
        ("?host=::1,b&dbname=db", "[::1]:5432,b:5432", Some("db")),
        ("[fe80::1%25eth0]:1/db", "[fe80::1%eth0]:1", Some("db")),
        (
            "u@host/db?target_session_attrs=read-write&connect_timeout=10",
            "host:5432",
            Some("db"),
        ),
    ] {
        let postgres = parse(url);
        assert_eq!(postgres.servers(), servers, "{url}");
        assert_eq!(postgres.database(), database, "{url}");
    }
    assert_eq!(parse("a,b").layout(), Layout::Failover);
    assert_eq!(parse("a").layout(), Layout::OneServer);
    for url in ["u:p%40ss@h", "u:p@ss@h", "u@h?password=p%40ss"] {
        let password = parse(url).config.get_password().map(<[u8]>::to_vec);
        assert_eq!(password.as_deref(), Some(&b"p@ss"[..]), "{url}");
    }
    assert_eq!(parse("h").tls_mode, TlsMode::Prefer);
    assert_eq!(parse("h?sslmode=disable").tls_mode, TlsMode::Disable);
    let pause = Duration::from_millis(200);
    assert_eq!(parse("h?poll=200ms").poll, Some(pause));
    assert!(parse("a,b/db").is_same_store(&parse("b/db")));
    assert!(!parse("a/db").is_same_store(&parse("a/other")));
}

#[test]
#[cfg(feature = "tls")]
fn tls_is_as_in_libpq() {
    for (query, mode) in [
        ("sslmode=require", TlsMode::Require),
        ("sslmode=require&sslrootcert=/ca", TlsMode::VerifyCa),
        ("sslmode=verify-full&ca=/ca", TlsMode::VerifyFull),
        ("sslrootcert=system", TlsMode::VerifyFull),
    ] {
        assert_eq!(parse(&format!("h?{query}")).tls_mode, mode, "{query}");
    }
}

/// Those of libpq, of other drivers and of hosts: each has an effect, or none that is missed, or is refused.
#[test]
fn every_usual_parameter_is_understood_or_refused_by_name() {
    for query in [
        "pgbouncer=true&connection_limit=1&schema=public",
        "sslnegotiation=postgres&gssencmode=disable",
        "fallback_application_name=psql",
    ] {
        assert_eq!(parse(&format!("h/db?{query}")).database(), Some("db"));
    }
    for (query, said) in [
        ("hostaddr=10.0.0.1", "`hostaddr` is not supported"),
        ("passfile=/canary", "`passfile` is not supported"),
        ("requirepeer=canary", "`requirepeer` is not supported"),
        (
            "sslnegotiation=direct",
            "`sslnegotiation` is one of `postgres`",
        ),
        ("gssencmode=require", "`gssencmode` is one of"),
        ("nonsense=canary", "a query parameter is unknown"),
    ] {
        let error = url::parse("postgres", &format!("h?{query}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said) && !error.contains("canary"), "{error}");
    }
}

#[test]
fn no_error_repeats_a_part_of_the_url() {
    for url in [
        "canary:canary#@host",
        "u@host?canary=canary",
        "u@host?sslmode=canary",
        "u@host?poll=canary",
        "u@host?poll=9s",
        "u:canary@host:canary",
        "u:canary/@host",
        "u:canary%@host",
        "u:canary@",
        "u@ho st/canary",
        "canary/canary?host=canary",
        "[canary]/db",
        "u@host?canary=%00",
        "u@host?options=%00canary",
        "u@host?target_session_attrs=canary",
        "u@host?sslcert=canary",
        "u@a,b?port=1,2,3",
    ] {
        let error = url::parse("postgres", url).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("canary"), "{url}: {text}");
    }
}
