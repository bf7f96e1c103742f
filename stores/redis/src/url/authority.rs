//! Parses servers and databases: `host:port`, `3`.

use std::net::Ipv6Addr;
use std::str::FromStr;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Address, decode, invalid};

pub(super) fn host_and_port(text: &str, default_port: u16) -> Result<Address, SetupError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((host, port)) = rest.split_once(']') else {
                return Err(invalid("the IPv6 address has no closing bracket"));
            };
            (ipv6(host)?, port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (named(host)?, port)
        }
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => default_port,
        None => return Err(invalid("only a port may follow the IPv6 address")),
        Some(port) => number(port).filter(|port| *port > 0).ok_or_else(|| {
            invalid(
                "the port is not a number from 1 to 65535 (write IPv6 addresses in brackets and \
                 percent-encode special characters of the password)",
            )
        })?,
    };
    Ok(Address::Tcp { host, port })
}

fn named(host: &str) -> Result<String, SetupError> {
    if host.is_empty() {
        return Err(invalid("the host is missing"));
    }
    // Allows international host names and underscores, but no characters that separate parts of a URL.
    let odd = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_');
    if host.contains(odd) || host.contains(char::is_whitespace) {
        return Err(invalid(
            "the host contains a character that no host name has; percent-encode those of the password",
        ));
    }
    Ok(host.to_owned())
}

/// A URL has the zone of an address after `%25` (RFC 6874), and the resolver takes it after `%`.
fn ipv6(text: &str) -> Result<String, SetupError> {
    let (address, zone) = text.split_once('%').unwrap_or((text, ""));
    if address.parse::<Ipv6Addr>().is_err() {
        return Err(invalid("the text in brackets is not an IPv6 address"));
    }
    if address == text {
        return Ok(text.to_owned());
    }
    let zone = zone.strip_prefix("25").map(decode).transpose()?;
    let is_odd = |c: char| !c.is_ascii_graphic() || matches!(c, '/' | '%');
    match zone {
        Some(zone) if !zone.is_empty() && !zone.contains(is_odd) => Ok(format!("{address}%{zone}")),
        _ => Err(invalid(
            "the zone of an IPv6 address is the name or number of a network interface after `%25`: `[fe80::1%25eth0]`",
        )),
    }
}

pub(super) fn database(text: &str) -> Result<u32, SetupError> {
    // Redis stores the number of a database in a C `int`.
    match number::<u32>(text) {
        _ if text.is_empty() => Ok(0),
        Some(db) if i32::try_from(db).is_ok() => Ok(db),
        _ => Err(invalid("the database is not a number")),
    }
}

/// Accepts digits only. `FromStr` alone would accept a sign.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
