//! A [`Config`] from the types of the redis crate, version 1: the feature `redis-1`.

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, percent_encode, utf8_percent_encode};
use redis::ConnectionAddr;

use super::Config;
use crate::base::error::SetupError;

/// Uses the server, login and database of the redis crate (version 1, feature `redis-1`), so that a program with a
/// `ConnectionInfo` or a `Client` needs no URL as well.
///
/// The client trusts the certificates of the system's authorities. It uses RESP3, even if the value names RESP2.
/// The TCP settings and the library's name have no effect, because this library uses its own.
///
/// # Errors
///
/// [`SetupError::InvalidOption`] for settings that cannot be taken over:
///
/// - certificates that are not checked (`insecure`);
/// - certificates and keys in memory (`build_with_tls`): name their files in a URL;
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
        Self::new(&url(info)?)
    }
}

/// Like the conversion from `&ConnectionInfo`.
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

/// The URL with the same server, login and database.
fn url(info: &redis::ConnectionInfo) -> Result<String, SetupError> {
    let settings = info.redis_settings();
    let db = i32::try_from(settings.db()).ok().filter(|db| *db >= 0);
    let db = db.ok_or_else(|| invalid("no server has this database"))?;
    let user = utf8_percent_encode(settings.username().unwrap_or(""), NON_ALPHANUMERIC);
    let password = utf8_percent_encode(settings.password().unwrap_or(""), NON_ALPHANUMERIC);
    match info.addr() {
        ConnectionAddr::Unix(path) => {
            let path = path.as_os_str().as_encoded_bytes();
            let path = path.split(|byte| *byte == b'/').skip(1);
            let mut url = "unix://".to_owned();
            for part in path {
                // Writing into a `String` cannot fail.
                let _ = write!(url, "/{}", percent_encode(part, NON_ALPHANUMERIC));
            }
            Ok(format!("{url}?db={db}&user={user}&pass={password}"))
        }
        address => {
            let (scheme, host, port) = tcp(address)?;
            // An IPv6 address in a URL is in brackets.
            let host = match host.contains(':') {
                true => format!("[{host}]"),
                false => host.to_owned(),
            };
            Ok(format!("{scheme}://{user}:{password}@{host}:{port}/{db}"))
        }
    }
}

fn tcp(address: &ConnectionAddr) -> Result<(&'static str, &str, u16), SetupError> {
    let (scheme, host, port) = match address {
        ConnectionAddr::Tcp(host, port) => ("redis", host, *port),
        ConnectionAddr::TcpTls { insecure: true, .. } => {
            return Err(invalid(
                "it does not check certificates (`insecure`): name the authority's certificate in a URL instead, \
                 `rediss://host?ca=/path`",
            ));
        }
        ConnectionAddr::TcpTls {
            tls_params: Some(_),
            ..
        } => {
            return Err(invalid(
                "its certificates cannot be read from it: name their files in a URL, `rediss://host?ca=/path`",
            ));
        }
        ConnectionAddr::TcpTls { host, port, .. } => ("rediss", host, *port),
        _ => return Err(invalid("its kind of address is unknown: write a URL")),
    };
    match (host.as_str(), port) {
        ("", _) => Err(invalid("its host is empty")),
        (_, 0) => Err(invalid("its port is 0")),
        (host, port) => Ok((scheme, host, port)),
    }
}

fn invalid(reason: &'static str) -> SetupError {
    SetupError::invalid("redis::ConnectionInfo", reason)
}
