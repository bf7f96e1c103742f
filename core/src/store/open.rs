//! [`open`]: opens the store of an [`Endpoint`]. [`Opening`]: a store that may take several attempts. Only this file
//! knows all kinds of stores.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::memory::MemoryStore;
use super::redis::{Guard, Route};
use super::{Events, MemberId, Store, cluster, lazy, quorum, redis};
use crate::config::{Access, Endpoint, Settings};
use crate::error::SetupError;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An open store, and the driver that must run for it.
pub(crate) struct Opened {
    store: Arc<dyn Store>,
    driver: Box<dyn FnOnce(Arc<dyn Events>) -> Running + Send>,
}

/// Opens the store of a member, on the thread of its engine.
pub(crate) async fn open(settings: &Settings, member: MemberId) -> Result<Opened, SetupError> {
    check_tls(settings)?;
    if settings.lazily && !matches!(settings.endpoint, Endpoint::Memory { .. }) {
        let (store, driver) = lazy::open(settings, member);
        return Ok(Opened::new(store, |events| driver.run(events)));
    }
    let mut opening = Opening::new(settings, member);
    opening.attempt(settings.connect_timeout).await
}

/// A store that is being opened, in one or several attempts.
pub(super) struct Opening<'a> {
    settings: &'a Settings,
    member: MemberId,
    /// The results of earlier attempts, if the store is a cluster.
    cluster: Option<cluster::Opening>,
}

impl<'a> Opening<'a> {
    pub(super) fn new(settings: &'a Settings, member: MemberId) -> Self {
        Self {
            settings,
            member,
            cluster: None,
        }
    }

    /// Opens the store within `limit`. Returns when the store is connected and checked.
    pub(super) async fn attempt(&mut self, limit: Duration) -> Result<Opened, SetupError> {
        let (settings, member) = (self.settings, self.member);
        match &settings.endpoint {
            Endpoint::Memory { shared } => {
                let (store, driver) = MemoryStore::open(shared.as_deref(), member);
                Ok(Opened::new(store, |events| driver.run(events)))
            }
            Endpoint::Redis(endpoint) => {
                let route = Route::fixed(endpoint);
                one_server(route, &endpoint.access, settings, member, limit).await
            }
            Endpoint::Sentinel(endpoint) => {
                let route = Route::by_sentinels(endpoint);
                one_server(route, &endpoint.access, settings, member, limit).await
            }
            Endpoint::Quorum(endpoint) => {
                let guard = Guard::of(settings).unreplicated();
                let later = settings.connect_timeout;
                let (store, driver) =
                    quorum::connect(endpoint, later, limit, member, guard).await?;
                Ok(Opened::new(store, |events| driver.run(events)))
            }
            Endpoint::Cluster(endpoint) => {
                let new = || cluster::Opening::new(endpoint, settings, member);
                let opening = self.cluster.get_or_insert_with(new);
                let (store, refresher) = opening.attempt(limit, settings.lazily).await?;
                Ok(Opened::new(store, |events| refresher.run(events)))
            }
        }
    }
}

/// Refuses a URL that asks for TLS if this build has no TLS.
pub(super) fn check_tls(settings: &Settings) -> Result<(), SetupError> {
    if !cfg!(feature = "tls-no-provider") && settings.endpoint.tls().is_some() {
        return Err(SetupError::UnsupportedStore {
            scheme: "rediss".to_owned(),
            reason: "this program was built without TLS: run `cargo add auto-mutex --features tls`",
        });
    }
    Ok(())
}

async fn one_server(
    route: Route,
    access: &Access,
    settings: &Settings,
    member: MemberId,
    limit: Duration,
) -> Result<Opened, SetupError> {
    let (store, driver) = redis::connect(
        route,
        access,
        settings.connect_timeout,
        limit,
        settings.replicas,
        member,
        Guard::of(settings),
    )
    .await?;
    Ok(Opened::new(store, |events| driver.run(events)))
}

impl Opened {
    fn new<F>(
        store: Arc<dyn Store>,
        driver: impl FnOnce(Arc<dyn Events>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            store,
            driver: Box::new(|events| Box::pin(driver(events))),
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Runs the driver. It ends after [`Store::close`] was called.
    pub(crate) fn run(self, events: Arc<dyn Events>) -> Running {
        (self.driver)(events)
    }
}

#[cfg(all(test, not(feature = "tls-no-provider")))]
mod tests {
    use crate::config::Config;
    use crate::error::SetupError;

    #[tokio::test]
    async fn without_tls_a_url_that_asks_for_it_is_refused() {
        for url in [
            "rediss://h",
            "redis://h?tls=true",
            "redis-sentinel://h/s?tls=true",
            "redis-cluster://h?tls=true",
            "redlock://a,b,c?tls=true",
        ] {
            let settings = Config::new(url).unwrap().validate().unwrap();
            let opened = super::open(&settings, crate::store::MemberId::random()).await;
            let Err(SetupError::UnsupportedStore { reason, .. }) = opened.map(drop) else {
                panic!("{url}");
            };
            assert!(reason.contains("--features tls`"), "{reason}");
        }
    }
}
