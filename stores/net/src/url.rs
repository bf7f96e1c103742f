//! [`Url`]: the parts of the URL of a server, for engines.
//!
//! No error repeats any part of the URL, because each may contain a piece of an unescaped password.

use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{Address, decode, invalid};

/// The parts of a URL after its scheme. Each method that reads a query parameter also removes it.
#[derive(Debug)]
pub struct Url<'a> {
    /// All before the query.
    pub whole: &'a str,
    /// What follows the first slash.
    pub path: &'a str,
    authority: &'a str,
    parameters: Vec<(&'a str, String)>,
    known: Vec<&'static str>,
}

impl<'a> Url<'a> {
    /// Splits the text after `://`.
    pub fn split(text: &'a str) -> Result<Self, SetupError> {
        if text.contains('#') {
            return Err(invalid("it contains `#`; in a password write `%23`"));
        }
        let (whole, query) = text.split_once('?').unwrap_or((text, ""));
        let mut parameters: Vec<(&str, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if parameters.iter().any(|(earlier, _)| *earlier == key) {
                return Err(invalid("a query parameter is given twice"));
            }
            parameters.push((key, decode(value)?));
        }
        let (authority, path) = whole.split_once('/').unwrap_or((whole, ""));
        Ok(Self {
            whole,
            path,
            authority,
            parameters,
            known: Vec::new(),
        })
    }

    /// Splits `[user[:password]@]host…` into user, password and hosts.
    pub fn login(&self) -> Result<(String, String, &'a str), SetupError> {
        // At the last `@`, so that one in a password need not be escaped.
        let (login, servers) = self
            .authority
            .rsplit_once('@')
            .unwrap_or(("", self.authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        Ok((decode(user)?, decode(password)?, servers))
    }

    /// A query parameter.
    pub fn take(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        let index = self
            .parameters
            .iter()
            .position(|(found, _)| *found == key)?;
        Some(self.parameters.swap_remove(index).1)
    }

    /// Whether it has a query parameter that has no meaning here, so that no error lists it as known.
    pub fn has(&mut self, key: &str) -> bool {
        let before = self.parameters.len();
        self.parameters.retain(|(found, _)| *found != key);
        self.parameters.len() < before
    }

    /// A query parameter that is the path of a file.
    pub fn file(&mut self, key: &'static str) -> Result<Option<PathBuf>, SetupError> {
        match self.take(key) {
            Some(path) if path.is_empty() || path.contains('\0') => Err(invalid(
                "the path of a certificate or key is not a file path",
            )),
            path => Ok(path.map(PathBuf::from)),
        }
    }

    /// Refuses the parameters that nobody has read.
    pub fn finish(self) -> Result<(), SetupError> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        let known: Vec<_> = self.known.iter().map(|key| format!("`{key}`")).collect();
        Err(invalid(format!(
            "a query parameter is unknown; known are {} (in a password write `?` as `%3F`)",
            known.join(", ")
        )))
    }
}

/// Parses `host:port`.
pub fn host_and_port(text: &str, default_port: u16) -> Result<Address, SetupError> {
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

/// Accepts digits only. `FromStr` alone would accept a sign.
pub fn number<T: FromStr>(text: &str) -> Option<T> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
