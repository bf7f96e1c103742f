//! [`open`]: opens the store of an [`Endpoint`]. Only this file knows all kinds of stores.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::memory::MemoryStore;
use super::redis::{Guard, Route, Spec};
use super::{Events, MemberId, Store, cluster, quorum};
use crate::config::{Access, Endpoint, Settings};
use crate::error::SetupError;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An open store, and the driver that must run for it.
pub(crate) struct Opened {
    store: Arc<dyn Store>,
    driver: Box<dyn FnOnce(Arc<dyn Events>) -> Running + Send>,
}

/// Opens the store of a member, on the thread of its engine. Returns when the store is connected and checked; with
/// `Config::connect_lazily` before, and the driver connects and checks it.
pub(crate) async fn open(settings: &Settings, member: MemberId) -> Result<Opened, SetupError> {
    check_tls(settings)?;
    match &settings.endpoint {
        Endpoint::Memory { shared } => {
            let (store, driver) = MemoryStore::open(shared.as_deref(), member);
            Ok(Opened::new(store, |events| driver.run(events)))
        }
        Endpoint::Redis(endpoint) => {
            one_server(Route::fixed(endpoint), &endpoint.access, settings, member).await
        }
        Endpoint::Sentinel(endpoint) => {
            let route = Route::by_sentinels(endpoint);
            one_server(route, &endpoint.access, settings, member).await
        }
        Endpoint::Quorum(endpoint) => {
            let (store, driver) = quorum::open(endpoint, settings, member).await?;
            Ok(Opened::new(store, |events| driver.run(events)))
        }
        Endpoint::Cluster(endpoint) => {
            let (store, refresher) = cluster::open(endpoint, settings, member).await?;
            Ok(Opened::new(store, |events| refresher.run(events)))
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
) -> Result<Opened, SetupError> {
    let limit = settings.connect_timeout;
    let spec = Spec {
        replicas: settings.replicas,
        ..Spec::new(route, access, member, Guard::of(settings), limit)
    };
    let (store, mut driver) = spec.unconnected();
    if !settings.lazily {
        driver.open(limit).await?;
    }
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
