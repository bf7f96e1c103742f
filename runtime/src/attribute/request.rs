//! [`Request`]: what one call of an annotated function asks for.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use crate::client::Client;
use crate::error::LockError;
use crate::handle::{Expire, Handle, Options};
use crate::name::Name;
use crate::site::Site;

/// Between two attempts, unless `interval` says otherwise.
const INTERVAL: Duration = Duration::from_millis(10);

/// What a call asks for. It owns everything, so it may be kept across an await.
#[derive(Debug)]
pub struct Request {
    site: &'static Site,
    self_type: &'static str,
    client: Option<Client>,
    key: Vec<String>,
    key_failed: bool,
    expire: Option<Duration>,
    block: Option<Duration>,
    at_least: Option<Duration>,
    retries: Option<u32>,
    interval: Option<Duration>,
}

impl Request {
    /// A request of a function whose name needs no `Self`.
    #[must_use]
    pub fn new(site: &'static Site) -> Self {
        Self::of::<()>(site)
    }

    /// A request of a function of the type `T`.
    #[must_use]
    pub fn of<T: ?Sized>(site: &'static Site) -> Self {
        Self {
            site,
            self_type: std::any::type_name::<T>(),
            client: None,
            key: Vec::new(),
            key_failed: false,
            expire: None,
            block: None,
            at_least: None,
            retries: None,
            interval: None,
        }
    }

    /// `client = …`
    pub fn client(&mut self, client: &Client) {
        self.client = Some(client.clone());
    }

    /// `expire = …`
    pub fn expire<D: IsDuration>(&mut self, expire: D) {
        self.expire = Some(expire.duration());
    }

    /// `block = …`
    pub fn block<D: IsDuration>(&mut self, block: D) {
        self.block = Some(block.duration());
    }

    /// `at_least = …`
    pub fn at_least<D: IsDuration>(&mut self, at_least: D) {
        self.at_least = Some(at_least.duration());
    }

    /// `retries = …`
    pub fn retries(&mut self, retries: u32) {
        self.retries = Some(retries);
    }

    /// `interval = …`
    pub fn interval<D: IsDuration>(&mut self, interval: D) {
        self.interval = Some(interval.duration());
    }

    /// One more part of the key.
    pub fn part<P: KeyPart + ?Sized>(&mut self, part: &P) {
        self.affixed("", part, "");
    }

    /// One more part of the key, between two texts.
    pub fn affixed<P: KeyPart + ?Sized>(&mut self, before: &str, part: &P, after: &str) {
        let mut text = before.to_owned();
        self.key_failed |= !part.write(&mut text);
        text.push_str(after);
        self.key.push(text);
    }

    /// The lock that is asked for, and how.
    pub(super) fn handle(self) -> Result<(Handle, Options), LockError> {
        let client = match self.client.clone() {
            Some(client) => client,
            None => Client::in_force()?,
        };
        let name = self.name(&client)?;
        let options = Options {
            expire: self.expire.map(Expire::After),
            block: self.block,
            retries: self
                .retries
                .map(|retries| (retries, self.interval.unwrap_or(INTERVAL))),
            at_least: self.at_least.unwrap_or_default(),
            reentrant: true,
        };
        Ok((Handle::at(client, name, self.site.shown()), options))
    }

    fn name(&self, client: &Client) -> Result<Name, LockError> {
        let mut name = self.site.called(client.namespace(), self.self_type);
        for part in &self.key {
            name.part(part);
        }
        if self.key_failed {
            return Err(LockError::InvalidName {
                name: name.finish()?.to_string(),
                reason: "the `Display` of a part of the key failed",
            });
        }
        name.finish()
    }
}

/// What can be a part of a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a lock's key: it does not implement `Display`",
    label = "needs `Display`",
    note = "use a field or a method that can be displayed (`key = order.id`), or implement `Display`"
)]
pub trait KeyPart {
    /// `false`: it failed, and `text` is incomplete.
    fn write(&self, text: &mut String) -> bool;
}

#[diagnostic::do_not_recommend]
impl<T: Display + ?Sized> KeyPart for T {
    fn write(&self, text: &mut String) -> bool {
        write!(text, "{self}").is_ok()
    }
}

/// A `Duration`; a trait of its own only for what the compiler says of other types.
#[diagnostic::on_unimplemented(
    message = "an expression for a length of time has the type `Duration`, not `{Self}`",
    label = "not a `Duration`",
    note = "write seconds as a literal (`100`, `0.5`, \"250ms\"), or convert: `Duration::from_secs(…)`"
)]
pub trait IsDuration {
    /// Itself.
    fn duration(self) -> Duration;
}

impl IsDuration for Duration {
    fn duration(self) -> Duration {
        self
    }
}
