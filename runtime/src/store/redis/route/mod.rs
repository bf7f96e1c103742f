//! [`Route`]: where the server is, looked up for every connection.
//!
//! How a server is talked to is not known here. `sentinels.rs`: what those that watch over a service say of its primary.
//! `sentinel.rs`: one of them, what it is asked and answers. `watch.rs`: one of them is listened to.

mod sentinel;
mod sentinels;
mod watch;

use std::future::pending;

pub(super) use self::sentinel::Primary;
use self::sentinels::Sentinels;
use super::connect::error::ConnectError;
use crate::config::{Address, RedisEndpoint, SentinelEndpoint};
use crate::error::StoreError;
use crate::wire::Limits;

pub(crate) enum Route {
    /// One server, always.
    Fixed(Address),
    /// The one that the sentinels name.
    Sentinel(Box<Sentinels>),
}

impl Route {
    pub(crate) fn fixed(endpoint: &RedisEndpoint) -> Self {
        Self::Fixed(endpoint.address.clone())
    }

    pub(crate) fn by_sentinels(endpoint: &SentinelEndpoint) -> Self {
        Self::Sentinel(Box::new(Sentinels::new(endpoint)))
    }

    /// The server at present.
    pub(super) async fn resolve(&self, limits: Limits) -> Result<Primary, ConnectError> {
        match self {
            Self::Fixed(address) => Ok(Primary {
                address: address.clone(),
                epoch: 0,
            }),
            Self::Sentinel(sentinels) => sentinels.resolve(limits).await,
        }
    }

    /// What errors and logs call the server.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Fixed(address) => address.to_string(),
            Self::Sentinel(sentinels) => sentinels.place(),
        }
    }

    /// What the `error` of the first attempt to connect means; `Ok`: it passes, and the attempt is worth another one.
    pub(super) fn judge(&self, error: ConnectError) -> Result<ConnectError, ConnectError> {
        match (self, error) {
            (_, error @ ConnectError::Passing(_)) => Ok(error),
            (Self::Sentinel(sentinels), error) => sentinels.judge(error),
            (Self::Fixed(_), error) => Err(error),
        }
    }

    /// Completes when another server has taken the place of `server`.
    pub(super) async fn replaced(&self, server: &Primary) -> StoreError {
        match self {
            Self::Fixed(_) => pending().await,
            Self::Sentinel(sentinels) => sentinels.replaced(server).await,
        }
    }

    /// Completes when it becomes known that the server is elsewhere than where it was looked for last.
    pub(super) async fn moved(&self) {
        match self {
            Self::Fixed(_) => pending().await,
            Self::Sentinel(sentinels) => sentinels.moved().await,
        }
    }

    /// Listens for that; runs for as long as it is polled.
    pub(super) async fn watch(&self) {
        match self {
            Self::Fixed(_) => pending().await,
            Self::Sentinel(sentinels) => watch::run(sentinels).await,
        }
    }
}

/// Whatever a sentinel may say, for the fuzzers.
#[cfg(any(test, fuzzing))]
pub(super) fn read(reply: &crate::wire::Value<'_>) {
    if let Some(primary) = Primary::read(reply) {
        let _ = (primary.address.to_string(), primary.replaces(&primary));
    }
    let _ = sentinel::addresses(reply);
}
