//! [`Route`]: finds the server, again for every connection. Knows nothing of the lock protocol.

mod sentinel;
mod sentinels;
mod watch;

use std::future::pending;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Address, Layout, Trouble};

pub(super) use self::sentinel::Primary;
use self::sentinels::Sentinels;
use crate::RedisEndpoint;
use crate::login::error::ConnectError;
use crate::wire::Limits;

pub(crate) enum Route {
    Fixed(Address),
    Sentinel(Box<Sentinels>),
}

impl Route {
    pub(crate) fn of(endpoint: &RedisEndpoint) -> Self {
        match endpoint.layout {
            Layout::Failover => Self::Sentinel(Box::new(Sentinels::new(endpoint))),
            _ => Self::Fixed(endpoint.servers[0].clone()),
        }
    }

    pub(super) async fn resolve(&self, limits: Limits) -> Result<Primary, ConnectError> {
        match self {
            Self::Fixed(address) => Ok(Primary {
                address: address.clone(),
                epoch: 0,
            }),
            Self::Sentinel(sentinels) => sentinels.resolve(limits).await,
        }
    }

    pub(super) fn place(&self) -> String {
        match self {
            Self::Fixed(address) => address.to_string(),
            Self::Sentinel(sentinels) => sentinels.place(),
        }
    }

    /// `Ok`: the error is temporary, and another attempt may succeed.
    pub(super) fn judge(&self, error: ConnectError) -> Result<ConnectError, ConnectError> {
        match (self, error) {
            (_, error @ ConnectError::Unreachable(Trouble::Busy, _)) => Ok(error),
            (Self::Sentinel(sentinels), error) => sentinels.judge(error),
            (Self::Fixed(_), error) => Err(error),
        }
    }

    pub(super) async fn replaced(&self, server: &Primary) -> StoreError {
        match self {
            Self::Fixed(_) => pending().await,
            Self::Sentinel(sentinels) => sentinels.replaced(server).await,
        }
    }

    pub(super) async fn moved(&self) {
        match self {
            Self::Fixed(_) => pending().await,
            Self::Sentinel(sentinels) => sentinels.moved().await,
        }
    }

    pub(super) async fn watch(&self) {
        match self {
            Self::Fixed(_) => pending().await,
            // The watch is on the heap, because most drivers need no watch.
            Self::Sentinel(sentinels) => Box::pin(watch::run(sentinels)).await,
        }
    }
}

#[cfg(any(test, fuzzing))]
pub(super) fn read(reply: &crate::wire::Value<'_>) {
    if let Some(primary) = Primary::read(reply) {
        let _ = (primary.address.to_string(), primary.replaces(&primary));
    }
    let _ = sentinel::addresses(reply);
}
