//! A `Config` made from types of the redis crate equals the one made from the same URL.

use auto_mutex_seam::store::same_kind;
use auto_mutex_seam::{Config, SetupError};
use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion};

use crate::RedisEndpoint;

fn info(url: &str) -> ConnectionInfo {
    url.into_connection_info().unwrap()
}

fn of(config: Config) -> RedisEndpoint {
    let engine = config.validate().unwrap().engine;
    same_kind::<RedisEndpoint>(&*engine).unwrap().clone()
}

fn endpoint(info: &redis::ConnectionInfo) -> RedisEndpoint {
    of(Config::try_from(info).unwrap())
}

#[test]
fn it_is_as_from_the_same_url() {
    for url in [
        "redis://localhost",
        "redis://user:p%40ss@[::1]:7/3",
        "redis://:secret@10.0.0.1/1",
        "valkey://h:1",
        "unix:///run/redis.sock?db=4&user=u&pass=p",
    ] {
        assert_eq!(endpoint(&info(url)), of(Config::new(url).unwrap()));
    }
    let resp3 = info("redis://h");
    let settings = resp3.redis_settings().clone();
    let resp3 = resp3.set_redis_settings(settings.set_protocol(ProtocolVersion::RESP3));
    assert_eq!(endpoint(&resp3), endpoint(&info("redis://h")));
}

#[test]
fn all_forms_convert() {
    let client = Client::open("redis://h").unwrap();
    let info = client.get_connection_info().clone();
    let expected = endpoint(&info);
    assert_eq!(of(Config::try_from(&client).unwrap()), expected);
    assert_eq!(of(Config::try_from(client).unwrap()), expected);
    assert_eq!(of(Config::try_from(info).unwrap()), expected);
}

fn secure(insecure: bool) -> ConnectionInfo {
    info("redis://h").set_addr(ConnectionAddr::TcpTls {
        host: "h".to_owned(),
        port: 7,
        insecure,
        tls_params: None,
    })
}

#[test]
fn tls_is_taken_over_if_it_is_checked() {
    let expected = of(Config::new("rediss://h:7").unwrap());
    assert_eq!(endpoint(&secure(false)), expected);
}

#[test]
fn what_cannot_be_taken_over_is_refused() {
    let db = |db| {
        let info = info("redis://u:canary@h");
        let settings = info.redis_settings().clone().set_db(db);
        info.set_redis_settings(settings)
    };
    let at =
        |host: &str, port| info("redis://h").set_addr(ConnectionAddr::Tcp(host.to_owned(), port));
    for (info, reason) in [
        (secure(true), "`insecure`"),
        (db(-1), "database"),
        (db(1 << 31), "database"),
        (at("h", 0), "port"),
        (at("", 1), "host"),
    ] {
        let error = Config::try_from(info).unwrap_err();
        assert!(
            matches!(error, SetupError::InvalidOption { .. }),
            "{error:?}"
        );
        let text = format!("{error} {error:?}");
        assert!(text.contains(reason), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }
}
