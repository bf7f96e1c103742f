//! [`Guard`] decides which requests may read, and which may break holds.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, StatusCode};
use subtle::ConstantTimeEq as _;

/// If the server only listens on this machine, every request may read; otherwise reading requires the token. Breaking a
/// hold always does. There is no cookie, so no other page can make a browser send the token.
pub(crate) struct Guard {
    listens_on: IpAddr,
    token: Option<String>,
}

impl Guard {
    /// Returns `None` if listening on this address requires a token and there is none.
    pub(crate) fn new(listens_on: IpAddr, token: Option<String>) -> Option<Self> {
        (listens_on.is_loopback() || token.is_some()).then_some(Self { listens_on, token })
    }

    /// Whether any request could break holds.
    pub(crate) fn may_kick_at_all(&self) -> bool {
        self.token.is_some()
    }

    /// Whether reading needs the token.
    pub(crate) fn reading_needs_token(&self) -> bool {
        !self.listens_on.is_loopback()
    }

    /// Checks the header `Host` of every request if the server only listens on this machine. A foreign page could make
    /// its own host name resolve to this machine (DNS rebinding) and read the answers, but its requests would have the
    /// foreign name in `Host`.
    pub(crate) fn may_come(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        if self.reading_needs_token() {
            return Ok(());
        }
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default();
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let is_here = name.eq_ignore_ascii_case("localhost")
            || name
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        is_here.then_some(()).ok_or(StatusCode::MISDIRECTED_REQUEST)
    }

    pub(crate) fn may_read(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        match self.reading_needs_token() {
            true => self.has_token(headers),
            false => Ok(()),
        }
    }

    pub(crate) fn may_kick(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        match self.may_kick_at_all() {
            true => self.has_token(headers),
            false => Err(StatusCode::FORBIDDEN),
        }
    }

    fn has_token(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        let sent = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|value| value.strip_prefix("Bearer "));
        match (sent, &self.token) {
            // A comparison in constant time.
            (Some(sent), Some(token)) if sent.as_bytes().ct_eq(token.as_bytes()).into() => Ok(()),
            _ => Err(StatusCode::UNAUTHORIZED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a token of sixteen";

    fn headers(host: &str, authorization: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn beyond_this_machine_nothing_goes_without_a_token() {
        assert!(Guard::new("0.0.0.0".parse().unwrap(), None).is_none());
        let guard = Guard::new("0.0.0.0".parse().unwrap(), Some(TOKEN.to_owned())).unwrap();
        let bearer = format!("Bearer {TOKEN}");
        for (sent, expected) in [
            (None, Err(StatusCode::UNAUTHORIZED)),
            (Some("Bearer wrong"), Err(StatusCode::UNAUTHORIZED)),
            (Some(TOKEN), Err(StatusCode::UNAUTHORIZED)),
            (Some(bearer.as_str()), Ok(())),
        ] {
            let headers = headers("locks.example", sent);
            assert_eq!(guard.may_read(&headers), expected);
            assert_eq!(guard.may_kick(&headers), expected);
        }
    }

    #[test]
    fn on_this_machine_all_read_and_the_token_kicks() {
        let guard = Guard::new("127.0.0.1".parse().unwrap(), None).unwrap();
        assert_eq!(guard.may_read(&headers("localhost", None)), Ok(()));
        let bearer = format!("Bearer {TOKEN}");
        let sent = headers("localhost", Some(&bearer));
        assert_eq!(guard.may_kick(&sent), Err(StatusCode::FORBIDDEN));
        let guard = Guard::new("::1".parse().unwrap(), Some(TOKEN.to_owned())).unwrap();
        assert_eq!(guard.may_kick(&sent), Ok(()));
        assert_eq!(
            guard.may_kick(&headers("localhost", None)),
            Err(StatusCode::UNAUTHORIZED)
        );
    }

    #[test]
    fn a_page_elsewhere_cannot_read_by_a_name_of_its_own() {
        let guard = Guard::new("127.0.0.1".parse().unwrap(), None).unwrap();
        for host in [
            "localhost:7070",
            "LOCALHOST",
            "127.0.0.1:7070",
            "[::1]:7070",
            "127.0.0.1",
        ] {
            assert_eq!(guard.may_come(&headers(host, None)), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:7070",
            "10.0.0.1",
            "",
        ] {
            assert!(guard.may_come(&headers(host, None)).is_err(), "{host}");
        }
    }
}
