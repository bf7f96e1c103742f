//! [`Url`]: the parts of a URL after its scheme.

use std::path::PathBuf;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Layout, decode, invalid};

use super::authority::{database, host_and_port};
use crate::RedisEndpoint;
use crate::access::Login;
use crate::wire::{Tls, Transport};

/// Each method that reads a query parameter also removes it.
pub(super) struct Url<'a> {
    pub(super) whole: &'a str,
    pub(super) path: &'a str,
    authority: &'a str,
    parameters: Vec<(&'a str, String)>,
    known: Vec<&'static str>,
}

impl<'a> Url<'a> {
    pub(super) fn split(text: &'a str) -> Result<Self, SetupError> {
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

    /// `[user[:password]@]host[:port],…[/database]`
    pub(super) fn endpoint(
        mut self,
        layout: Layout,
        default_port: u16,
        db: &str,
        secure: bool,
    ) -> Result<RedisEndpoint, SetupError> {
        // At the last `@`, so that one in a password need not be escaped.
        let (login, servers) = match self.authority.rsplit_once('@') {
            Some((login, servers)) => {
                let (user, password) = login.split_once(':').unwrap_or((login, ""));
                (Login::new(decode(user)?, decode(password)?), servers)
            }
            None => (Login::default(), self.authority),
        };
        let servers = servers.split(',');
        let servers = servers.map(|server| host_and_port(server, default_port));
        let servers = servers.collect::<Result<_, _>>()?;
        let tls = self.tls(secure)?;
        self.finish()?;
        Ok(RedisEndpoint {
            login,
            db: database(db)?,
            transport: Transport { tls, dialer: None },
            ..RedisEndpoint::new(layout, servers)
        })
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        let index = self
            .parameters
            .iter()
            .position(|(found, _)| *found == key)?;
        Some(self.parameters.swap_remove(index).1)
    }

    pub(super) fn login(&mut self, user: &'static str, password: &'static str) -> Login {
        let mut text = |key| self.take(key).unwrap_or_default();
        Login::new(text(user), text(password))
    }

    fn tls(&mut self, secure: bool) -> Result<Option<Tls>, SetupError> {
        let asked = match self.take("tls").as_deref() {
            None => secure,
            Some("true") => true,
            Some("false") if !secure => false,
            Some("false") => return Err(invalid("`rediss://` is TLS: `tls=false` contradicts it")),
            Some(_) => return Err(invalid("`tls` is either `true` or `false`")),
        };
        let ca = self.path("ca")?;
        let identity = match (self.path("cert")?, self.path("key")?) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(invalid("`cert` and `key` only make sense together")),
        };
        let server_name = self.take("server_name").filter(|name| !name.is_empty());
        let tls = Tls {
            ca,
            identity,
            server_name,
        };
        if !asked && tls != Tls::default() {
            return Err(invalid(
                "`ca`, `cert`, `key` and `server_name` need TLS: `rediss://`, or `tls=true`",
            ));
        }
        match asked {
            true => super::tls_is_there().map(|()| Some(tls)),
            false => Ok(None),
        }
    }

    fn path(&mut self, key: &'static str) -> Result<Option<PathBuf>, SetupError> {
        match self.take(key) {
            Some(path) if path.is_empty() || path.contains('\0') => Err(invalid(
                "the path of a certificate or key is not a file path",
            )),
            path => Ok(path.map(PathBuf::from)),
        }
    }

    pub(super) fn finish(mut self) -> Result<(), SetupError> {
        if let Some(protocol) = self.take("protocol")
            && !matches!(protocol.as_str(), "resp3" | "3")
        {
            return Err(invalid(
                "the protocol must be `resp3`: wake-ups arrive as its push messages",
            ));
        }
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
