//! [`RedisEndpoint`]: the engine of a single server, a service behind sentinels, or a Redis Cluster.

use std::sync::Arc;

use auto_mutex_net::{socket::Tls, unconnected};
use auto_mutex_seam::ServerKind;
use auto_mutex_seam::store::{
    Address, Checked, Engine, Layout, MemberId, RandomId, Reader, Scheme, Source, StoreOptions,
    Unconnected, same_kind,
};

#[cfg(feature = "cluster")]
use crate::cluster;
use crate::connect::Connector;
use crate::inspector::Inspector;
use crate::login::renewal::Login;
use crate::pipeline::Pipeline;
use crate::url;

inventory::submit! {
    Scheme {
        names: &[
            "redis", "rediss", "valkey", "valkeys", "unix", "redis+unix", "valkey+unix", "redis-sentinel", "redis-cluster",
        ],
        parse: url::parse,
        of_several: None,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedisEndpoint {
    pub(crate) layout: Layout,
    /// The server; or the sentinels; or some nodes of the cluster, which report the others.
    pub(crate) servers: Vec<Address>,
    pub(crate) login: Login,
    pub(crate) db: u32,
    /// The service's name on the sentinels, and the login there; empty without sentinels.
    pub(crate) service: String,
    pub(crate) sentinel_login: Login,
    /// For the servers and the sentinels; `None` for plain TCP.
    pub(crate) tls: Option<Tls>,
}

impl RedisEndpoint {
    pub(crate) fn new(layout: Layout, servers: Vec<Address>) -> Self {
        Self {
            layout,
            servers,
            login: Login::default(),
            db: 0,
            service: String::new(),
            sentinel_login: Login::default(),
            tls: None,
        }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.layout == Layout::Sharded
    }
}

impl Engine for RedisEndpoint {
    fn scheme(&self) -> &'static str {
        match self.layout {
            Layout::Failover => "redis-sentinel",
            Layout::Sharded => "redis-cluster",
            _ => "redis",
        }
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn servers(&self) -> String {
        let servers = listed(&self.servers);
        match self.layout {
            Layout::Failover => format!("{servers}/{}", self.service),
            _ => servers,
        }
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|it| {
            let mut servers = it.servers.iter();
            it.layout == self.layout
                && it.service == self.service
                && it.db == self.db
                && servers.any(|server| self.servers.contains(server))
        })
    }

    fn asking(&self, source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        let mut asking = self.clone();
        let of_server = match self.layout {
            Layout::Sharded => source.of_kind(ServerKind::ClusterNode),
            _ => source.clone(),
        };
        asking.login.ask(of_server)?;
        if self.layout == Layout::Failover {
            asking
                .sentinel_login
                .ask(source.of_kind(ServerKind::Sentinel))?;
        }
        Ok(Arc::new(asking))
    }

    /// Fails if an option needs a feature that is not compiled in.
    fn check(&self, options: &StoreOptions) -> Checked {
        match options.replicas.is_some() && !cfg!(feature = "replicas") {
            true => Err((
                "replicas",
                "turn on the feature `replicas` of the crate auto-mutex",
            )),
            false => Ok(()),
        }
    }

    fn unconnected(&self, options: &StoreOptions, member: MemberId) -> Unconnected {
        #[cfg(feature = "cluster")]
        if self.is_cluster() {
            return cluster::unconnected(self, options, member);
        }
        let connector = Connector::new(self.clone(), options, member);
        let (store, driver) = unconnected(Pipeline::new(connector));
        (store, driver)
    }

    fn reader(&self, options: &StoreOptions) -> Box<dyn Reader> {
        #[cfg(feature = "cluster")]
        if self.is_cluster() {
            return Box::new(cluster::Inspector::new(self, options));
        }
        let connector = Connector::new(self.clone(), options, MemberId::random());
        Box::new(Inspector::new(connector))
    }
}

pub(crate) fn uses_database(engine: &dyn Engine) -> bool {
    same_kind::<RedisEndpoint>(engine).is_some_and(|it| it.db != 0)
        || engine.parts().iter().any(|part| uses_database(&**part))
}

pub(crate) fn listed(addresses: &[Address]) -> String {
    let addresses: Vec<_> = addresses.iter().map(Address::to_string).collect();
    addresses.join(",")
}
