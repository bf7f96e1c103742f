//! The engines of one server and of a service that sentinels monitor: [`RedisEndpoint`], [`SentinelEndpoint`].

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{
    Address, Boxed, Checked, Dialer, Engine, Events, Layout, MemberId, Options, Reader, Scheme,
    Source, Unconnected, engine, same_kind,
};
use auto_mutex_core::{ServerKind, SetupError};

use crate::access::{Access, Login};
use crate::{Driver, Inspector, Route, Spec, url};

inventory::submit! {
    Scheme {
        names: &["redis", "rediss", "valkey", "valkeys", "unix", "redis+unix", "valkey+unix", "redis-sentinel"],
        parse: url::parse,
    }
}

#[cfg(not(feature = "cluster"))]
inventory::submit! {
    Scheme {
        names: &["redis-cluster"],
        parse: |name, _| Err(SetupError::unsupported(
            name,
            "turn on the feature `cluster` of the crate auto-mutex",
        )),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedisEndpoint {
    pub(crate) address: Address,
    pub(crate) access: Access,
}

impl Engine for RedisEndpoint {
    fn scheme(&self) -> &'static str {
        "redis"
    }

    fn layout(&self) -> Layout {
        Layout::OneServer
    }

    fn servers(&self) -> String {
        self.address.to_string()
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other)
            .is_some_and(|it| it.address == self.address && it.access.db == self.access.db)
    }

    fn dialed_by(&self, dialer: &Dialer) -> Option<Arc<dyn Engine>> {
        if !matches!(self.address, Address::Tcp { .. }) {
            return None;
        }
        let mut dialed = self.clone();
        dialed.access.transport.dialer = Some(dialer.clone());
        Some(Arc::new(dialed))
    }

    fn asking(&self, source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        let mut asking = self.clone();
        asking.access.login.ask(source.clone())?;
        Ok(Arc::new(asking))
    }

    fn check(&self, options: &Options) -> Checked {
        check(options)
    }

    fn unconnected(&self, options: &Options, member: MemberId) -> Unconnected {
        let spec = Spec::of(Route::fixed(self), &self.access, options, member);
        let (store, driver) = spec.unconnected();
        (store, Box::new(driver))
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        reader(Route::fixed(self), &self.access, options)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentinelEndpoint {
    pub(crate) sentinels: Vec<Address>,
    pub(crate) login: Login,
    pub(crate) service: String,
    /// The options for the servers. The transport (TLS, dialer) is also used for the sentinels.
    pub(crate) access: Access,
}

impl Engine for SentinelEndpoint {
    fn scheme(&self) -> &'static str {
        "redis-sentinel"
    }

    fn layout(&self) -> Layout {
        Layout::Failover
    }

    fn servers(&self) -> String {
        format!("{}/{}", listed(&self.sentinels), self.service)
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|it| {
            it.service == self.service
                && it.access.db == self.access.db
                && meet(&it.sentinels, &self.sentinels)
        })
    }

    fn dialed_by(&self, dialer: &Dialer) -> Option<Arc<dyn Engine>> {
        let mut dialed = self.clone();
        dialed.access.transport.dialer = Some(dialer.clone());
        Some(Arc::new(dialed))
    }

    fn asking(&self, source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        let mut asking = self.clone();
        asking.access.login.ask(source.clone())?;
        asking.login.ask(source.of_kind(ServerKind::Sentinel))?;
        Ok(Arc::new(asking))
    }

    fn check(&self, options: &Options) -> Checked {
        check(options)
    }

    fn unconnected(&self, options: &Options, member: MemberId) -> Unconnected {
        let spec = Spec::of(Route::by_sentinels(self), &self.access, options, member);
        let (store, driver) = spec.unconnected();
        (store, Box::new(driver))
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        reader(Route::by_sentinels(self), &self.access, options)
    }
}

pub(crate) fn uses_database(engine: &dyn Engine) -> bool {
    let own = same_kind::<RedisEndpoint>(engine).map(|engine| &engine.access);
    let own = own.or_else(|| same_kind::<SentinelEndpoint>(engine).map(|engine| &engine.access));
    own.is_some_and(|access| access.db != 0)
        || engine.parts().iter().any(|part| uses_database(&**part))
}

/// Fails if the options need a feature that this program was built without.
pub(crate) fn check(options: &Options) -> Checked {
    match options.replicas.is_some() && !cfg!(feature = "replicas") {
        true => Err((
            "replicas",
            "turn on the feature `replicas` of the crate auto-mutex",
        )),
        false => Ok(()),
    }
}

pub(crate) fn listed(addresses: &[Address]) -> String {
    let addresses: Vec<_> = addresses.iter().map(Address::to_string).collect();
    addresses.join(",")
}

pub(crate) fn meet(one: &[Address], other: &[Address]) -> bool {
    one.iter().any(|one| other.contains(one))
}

fn reader(route: Route, access: &Access, options: &Options) -> Box<dyn Reader> {
    let spec = Spec::of(route, access, options, MemberId::random());
    Box::new(Inspector::new(spec))
}

impl engine::Driver for Driver {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(Self::open(self, limit))
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        Box::pin(Self::run(*self, events))
    }
}
