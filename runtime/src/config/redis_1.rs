//! A [`Config`] from the types of the redis crate, version 1: the feature `redis-1`.

use redis::{ConnectionAddr, RedisConnectionInfo};

use super::Config;
use super::endpoint::{Access, Address, Endpoint, Login, RedisEndpoint, Tls};
use super::secret::Secret;
use crate::error::SetupError;

/// Takes over the server, login and database that the redis crate (version 1, feature `redis-1`) would use. So a
/// program that has a `ConnectionInfo` or a `Client` needs no URL in addition.
///
/// The client trusts the certificates of the system's authorities. It uses RESP3, even if the value names RESP2.
/// The TCP settings and the library's name have no effect, because this library uses its own.
///
/// # Errors
///
/// [`SetupError::InvalidOption`] for settings that cannot be taken over:
///
/// - certificates that are not checked (`insecure`);
/// - certificates and keys in memory (`build_with_tls`): name their files in a URL, or use [`Config::dialer`];
/// - an unknown kind of address;
/// - a database that does not exist.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use auto_mutex::Config;
///
/// let cache = redis::Client::open("redis://cache-user:secret@10.0.0.1:6380/3")?;
/// let config = Config::try_from(&cache)?.namespace("prod");
/// # Ok(()) }
/// ```
impl TryFrom<&redis::ConnectionInfo> for Config {
    type Error = SetupError;

    fn try_from(info: &redis::ConnectionInfo) -> Result<Self, SetupError> {
        let (address, tls) = address(info.addr())?;
        let mut access = access(info.redis_settings())?;
        access.transport.tls = tls;
        Ok(Self::at(Endpoint::Redis(RedisEndpoint { address, access })))
    }
}

/// Does the same as the conversion from `&ConnectionInfo`.
impl TryFrom<redis::ConnectionInfo> for Config {
    type Error = SetupError;

    fn try_from(info: redis::ConnectionInfo) -> Result<Self, SetupError> {
        Self::try_from(&info)
    }
}

/// Converts the client's `ConnectionInfo`.
impl TryFrom<&redis::Client> for Config {
    type Error = SetupError;

    fn try_from(client: &redis::Client) -> Result<Self, SetupError> {
        Self::try_from(client.get_connection_info())
    }
}

/// Converts the client's `ConnectionInfo`.
impl TryFrom<redis::Client> for Config {
    type Error = SetupError;

    fn try_from(client: redis::Client) -> Result<Self, SetupError> {
        Self::try_from(&client)
    }
}

fn address(address: &ConnectionAddr) -> Result<(Address, Option<Tls>), SetupError> {
    let tcp = |host: &str, port: u16| match host {
        "" => Err(invalid("its host is empty")),
        _ if port == 0 => Err(invalid("its port is 0")),
        host => Ok(Address::Tcp {
            host: host.to_owned(),
            port,
        }),
    };
    match address {
        ConnectionAddr::Tcp(host, port) => Ok((tcp(host, *port)?, None)),
        ConnectionAddr::TcpTls { insecure: true, .. } => Err(invalid(
            "it does not check certificates (`insecure`): name the authority's certificate in a URL instead, \
             `rediss://host?ca=/path`",
        )),
        ConnectionAddr::TcpTls {
            tls_params: Some(_),
            ..
        } => Err(invalid(
            "its certificates cannot be read from it: name their files in a URL, `rediss://host?ca=/path`, or use \
             `Config::dialer`",
        )),
        ConnectionAddr::TcpTls { host, port, .. } => Ok((tcp(host, *port)?, Some(Tls::default()))),
        ConnectionAddr::Unix(path) => Ok((Address::Unix(path.clone()), None)),
        _ => Err(invalid("its kind of address is unknown: write a URL")),
    }
}

fn access(settings: &RedisConnectionInfo) -> Result<Access, SetupError> {
    let db = i32::try_from(settings.db()).ok();
    let db = db.and_then(|db| u32::try_from(db).ok());
    let secret = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(Secret::new);
    Ok(Access {
        login: Login::new(secret(settings.username()), secret(settings.password())),
        db: db.ok_or_else(|| invalid("no server has this database"))?,
        ..Access::default()
    })
}

fn invalid(reason: &'static str) -> SetupError {
    SetupError::InvalidOption {
        option: "redis::ConnectionInfo",
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use redis::{Client, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion};

    use super::*;

    fn info(url: &str) -> ConnectionInfo {
        url.into_connection_info().unwrap()
    }

    fn endpoint(info: &redis::ConnectionInfo) -> Endpoint {
        Config::try_from(info).unwrap().settings.endpoint
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
            assert_eq!(
                endpoint(&info(url)),
                Config::new(url).unwrap().settings.endpoint
            );
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
        assert_eq!(
            Config::try_from(&client).unwrap().settings.endpoint,
            expected
        );
        assert_eq!(
            Config::try_from(client).unwrap().settings.endpoint,
            expected
        );
        assert_eq!(Config::try_from(info).unwrap().settings.endpoint, expected);
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
        let expected = Config::new("rediss://h:7").unwrap().settings.endpoint;
        assert_eq!(endpoint(&secure(false)), expected);
    }

    #[test]
    fn what_cannot_be_taken_over_is_refused() {
        let db = |db| {
            let info = info("redis://u:canary@h");
            let settings = info.redis_settings().clone().set_db(db);
            info.set_redis_settings(settings)
        };
        let at = |host: &str, port| {
            info("redis://h").set_addr(ConnectionAddr::Tcp(host.to_owned(), port))
        };
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
}
