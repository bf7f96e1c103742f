//! Logins and servers: `user:password@host:port,host:port`.

use std::net::Ipv6Addr;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Address, Secret, decode, invalid};

use super::text::number;
use crate::access::Login;

pub(super) fn login(text: &str) -> Result<Login, SetupError> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    Ok(Login::new(
        non_empty(decode(user)?),
        non_empty(decode(password)?),
    ))
}

pub(super) fn non_empty(text: String) -> Option<Secret> {
    (!text.is_empty()).then(|| Secret::new(text))
}

pub(super) fn host_and_port(text: &str, default_port: u16) -> Result<Address, SetupError> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let Some((host, port)) = rest.split_once(']') else {
            return Err(invalid("the IPv6 address has no closing bracket"));
        };
        let host = ipv6(host)?;
        match port.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if port.is_empty() => (host, None),
            None => return Err(invalid("only a port may follow the IPv6 address")),
        }
    } else {
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        if host.is_empty() {
            return Err(invalid("the host is missing"));
        }
        // International host names and underscores are allowed; characters that separate parts of a URL are not.
        let odd =
            |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_');
        if host.contains(odd) || host.contains(char::is_whitespace) {
            return Err(invalid(
                "the host contains a character that no host name has; percent-encode those of the password",
            ));
        }
        (host.to_owned(), port)
    };
    let port = match port {
        None => default_port,
        Some(port) => match number(port) {
            Some(port @ 1..) => port,
            _ => {
                return Err(invalid(
                    "the port is not a number from 1 to 65535 (write IPv6 addresses in brackets and \
                     percent-encode special characters of the password)",
                ));
            }
        },
    };
    Ok(Address::Tcp { host, port })
}

/// An IPv6 address, with a zone after `%25` if it has one (RFC 6874). The result has the zone
/// after `%`, as the system's resolver expects it.
fn ipv6(text: &str) -> Result<String, SetupError> {
    let (address, zone) = match text.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (text, None),
    };
    if address.parse::<Ipv6Addr>().is_err() {
        return Err(invalid("what stands in brackets is not an IPv6 address"));
    }
    let Some(zone) = zone else {
        return Ok(address.to_owned());
    };
    let zone = zone.strip_prefix("25").map(decode).transpose()?;
    match zone {
        Some(zone) if is_zone(&zone) => Ok(format!("{address}%{zone}")),
        _ => Err(invalid(
            "the zone of an IPv6 address is the name or number of a network interface after `%25`: `[fe80::1%25eth0]`",
        )),
    }
}

fn is_zone(zone: &str) -> bool {
    !zone.is_empty()
        && zone
            .chars()
            .all(|c| c.is_ascii_graphic() && !matches!(c, '/' | '%'))
}
