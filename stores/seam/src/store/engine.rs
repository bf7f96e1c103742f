//! [`Engine`]: a kind of store at the address in a URL. [`parse`] finds the engine by the URL's scheme.
//!
//! Engines register their schemes with [`Scheme`]. The only scheme known here is that of a quorum, to name the feature
//! that a program lacks.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::{Events, MemberId, Reader, Store, StoreOptions};
use crate::base::Boxed;
use crate::base::error::SetupError;
use crate::base::name::is_escaped;
use crate::store::credentials::Source;

/// How the servers of a store divide the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The store is in this process.
    InProcess,
    /// There is one server.
    OneServer,
    /// One server works, and others may take its place.
    Failover,
    /// Each server has a part of the names.
    Sharded,
    /// A majority of independent servers decides.
    Quorum,
}

/// The error is an option that the engine does not support, and why.
pub type Checked = Result<(), (&'static str, &'static str)>;

/// A kind of store at an address.
pub trait Engine: Any + fmt::Debug + RefUnwindSafe + Send + Sync + UnwindSafe {
    /// The scheme by which errors name this kind of store.
    fn scheme(&self) -> &'static str;

    /// How the servers divide the work.
    fn layout(&self) -> Layout;

    /// The servers, as in the URL, without credentials.
    fn servers(&self) -> String;

    /// Whether clients of this process with these two engines share a store, judging by the addresses.
    fn is_same_store(&self, other: &dyn Engine) -> bool;

    /// The engines of which this one consists, if any.
    fn parts(&self) -> &[Arc<dyn Engine>] {
        &[]
    }

    /// The same store, with all credentials from `source`. Fails, with the reason, if the URL has credentials or the
    /// store takes none.
    fn asking(&self, _source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        Err("this store has no credentials")
    }

    /// Checks options that some engines do not support.
    fn check(&self, _options: &StoreOptions) -> Checked {
        Ok(())
    }

    /// Makes a store that is not connected, and the driver that must run for it.
    fn unconnected(&self, options: &StoreOptions, member: MemberId) -> Unconnected;

    /// Makes a reader that is not connected yet.
    fn reader(&self, options: &StoreOptions) -> Box<dyn Reader>;
}

/// A store without a connection, and its driver.
pub type Unconnected = (Arc<dyn Store>, Box<dyn Driver>);

/// Connects a store, and runs it on the background thread of its client.
pub trait Driver: Send {
    /// Connects to the servers and checks them, within `limit`. Not called if the client connects lazily; then
    /// [`run`](Self::run) connects.
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>>;

    /// Runs until [`Store::close`] was called and all requests are answered. If the store is not connected yet, it
    /// reports this before its first return.
    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()>;
}

/// Opens a store: makes it, connects it and checks it within `options.connect_timeout`. With `lazily`, its driver
/// connects and checks it later.
pub async fn open(
    engine: &dyn Engine,
    options: &StoreOptions,
    member: MemberId,
    lazily: bool,
) -> Result<Unconnected, SetupError> {
    let (store, mut driver) = engine.unconnected(options, member);
    if !lazily {
        driver.open(options.connect_timeout).await?;
    }
    Ok((store, driver))
}

/// The engine of a URL, or what is wrong with the URL.
pub type Parsed = Result<Arc<dyn Engine>, SetupError>;

/// The URL schemes of an engine.
pub struct Scheme {
    /// The schemes.
    pub names: &'static [&'static str],
    /// Parses the rest of a URL with the scheme `name`. Errors must not repeat any part of the URL, because each may
    /// contain a piece of a password.
    pub parse: fn(name: &str, rest: &str) -> Parsed,
    /// Only for the scheme of a quorum.
    pub of_several: Option<Several>,
}

/// Makes the engine of several independent stores, of which a majority decides. Fails if the engines cannot make one
/// store together.
pub type Several = fn(engines: Vec<Arc<dyn Engine>>) -> Parsed;

inventory::collect!(Scheme);

/// The schemes that a program may be built without, and what to do then.
const OPTIONAL: [(&str, &str); 3] = [
    (QUORUM, NO_QUORUM),
    ("postgres", NO_POSTGRES),
    ("postgresql", NO_POSTGRES),
];
const QUORUM: &str = "redlock";
const NO_QUORUM: &str = "turn on the feature `quorum` of the crate auto-mutex";
const NO_POSTGRES: &str = "turn on the feature `postgres` of the crate auto-mutex";

/// Parses the URL of a store.
pub fn parse(url: &str) -> Result<Arc<dyn Engine>, SetupError> {
    let Some((name, rest)) = url.split_once("://") else {
        return Err(invalid(
            "it has no scheme; write for example `redis://127.0.0.1:6379` or `memory://`",
        ));
    };
    let name = name.to_ascii_lowercase();
    let mut schemes = inventory::iter::<Scheme>.into_iter();
    if let Some(scheme) = schemes.find(|scheme| scheme.names.contains(&name.as_str())) {
        return (scheme.parse)(&name, rest);
    }
    let optional = OPTIONAL.iter().find(|(scheme, _)| *scheme == name);
    Err(optional.map_or_else(unknown_scheme, |&(scheme, missing)| {
        SetupError::unsupported(scheme, missing)
    }))
}

/// The engine of the stores at these URLs together.
#[doc(hidden)]
pub fn of_several<U: AsRef<str>>(urls: impl IntoIterator<Item = U>) -> Parsed {
    let engines = urls.into_iter().map(|url| parse(url.as_ref()));
    let engines = engines.collect::<Result<_, _>>()?;
    let mut schemes = inventory::iter::<Scheme>.into_iter();
    let of_several = schemes.find_map(|scheme| scheme.of_several);
    of_several.ok_or_else(|| SetupError::unsupported(QUORUM, NO_QUORUM))?(engines)
}

fn unknown_scheme() -> SetupError {
    let schemes = inventory::iter::<Scheme>.into_iter();
    let names: BTreeSet<_> = schemes.flat_map(|scheme| scheme.names).collect();
    let names: Vec<_> = names.iter().map(|name| format!("`{name}://`")).collect();
    invalid(format!(
        "the scheme is unknown; use one of {}",
        names.join(", ")
    ))
}

/// Decodes a percent-encoded part of a URL.
pub fn decode(text: &str) -> Result<String, SetupError> {
    // The decoder accepts a stray `%`. It is an error here, because it suggests an unescaped password.
    if !is_escaped(text) {
        return Err(invalid(
            "a `%` is not followed by two hexadecimal digits; write `%25` for the character itself",
        ));
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(invalid("what is percent-encoded is not UTF-8")),
    }
}

/// The error for an unusable URL. The reason must not repeat any part of the URL.
pub fn invalid(reason: impl Into<String>) -> SetupError {
    let reason = reason.into();
    SetupError::InvalidUrl { reason }
}

/// Returns `other` if it is of the kind `E`.
pub fn same_kind<E: Engine>(other: &dyn Engine) -> Option<&E> {
    (other as &dyn Any).downcast_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing but the memory is built into this crate.
    #[test]
    fn the_url_of_an_engine_that_is_missing_names_its_feature() {
        for (url, feature) in [
            ("postgres://canary@h/db", "`postgres`"),
            ("PostgreSQL://canary@h", "`postgres`"),
            ("redlock://canary", "`quorum`"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(
                error.contains(feature) && !error.contains("canary"),
                "{error}"
            );
        }
    }
}
