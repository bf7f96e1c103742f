//! Servers of every kind of store, with users that are made by commands, and clients with a provider.

use std::collections::BTreeMap;

use auto_mutex::{AclRule, Client, Config, acl_rule};
use auto_mutex_tests::cluster::{Cluster, Shape};
use auto_mutex_tests::events::LONG;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::sentinel::{NAME, Service, ServiceOptions};
use auto_mutex_tests::stores::quorum_url;

use crate::keeper::Keeper;

/// The password of the test's own user, which the clients do not know.
const ADMIN: &str = "admin";

/// A store, without credentials in its URL.
pub(crate) enum Ground {
    One(Redis),
    Sentinel(Service),
    Cluster(Cluster),
    Quorum(Vec<Redis>),
}

impl Ground {
    pub(crate) fn one() -> Self {
        Self::One(Redis::with(Options::default().password(ADMIN)))
    }

    pub(crate) fn sentinel() -> Self {
        let options = ServiceOptions::default().server_password(ADMIN);
        Self::Sentinel(Service::with(options.sentinel_password(ADMIN)))
    }

    pub(crate) fn cluster() -> Self {
        let options = Options::default().password(ADMIN);
        let shape = Shape::default().without_replicas().options(options);
        Self::Cluster(Cluster::with(shape))
    }

    pub(crate) fn quorum() -> Self {
        Self::Quorum(Redis::several(5, &Options::default().password(ADMIN)))
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::One(redis) => format!("redis://127.0.0.1:{}", redis.port()),
            Self::Sentinel(service) => {
                let sentinels = hosts(service.sentinels());
                format!("redis-sentinel://{sentinels}/{NAME}")
            }
            Self::Cluster(cluster) => format!("redis-cluster://{}", hosts(cluster.nodes())),
            Self::Quorum(servers) => quorum_url(servers.iter().map(Redis::port)),
        }
    }

    /// Returns the servers at which clients take locks.
    pub(crate) fn servers(&self) -> Vec<&Redis> {
        match self {
            Self::One(redis) => vec![redis],
            Self::Sentinel(service) => vec![service.server(0)],
            Self::Cluster(cluster) => cluster.nodes().iter().collect(),
            Self::Quorum(servers) => servers.iter().collect(),
        }
    }

    pub(crate) fn sentinels(&self) -> &[Redis] {
        match self {
            Self::Sentinel(service) => service.sentinels(),
            _ => &[],
        }
    }

    /// Returns the servers and the sentinels.
    pub(crate) fn all(&self) -> Vec<&Redis> {
        let mut all = self.servers();
        all.extend(self.sentinels());
        all
    }

    /// Makes a user with the rights that the library needs, and with no other password than this one.
    pub(crate) fn allow(&self, user: &str, password: &str) {
        // Includes the rights for counting replicas, which most clients do not need.
        let config = self.config(&Keeper::new(user, password));
        let config = match self {
            Self::Quorum(_) => config,
            _ => config.replicas(1, "1s"),
        };
        let rule = acl_rule(config).expect("a rule");
        for server in self.servers() {
            allow(server, user, password, &rule.to_string());
        }
        for sentinel in self.sentinels() {
            allow(sentinel, user, password, sentinel_rule(&rule));
        }
    }

    /// A configuration without the restart guard: the servers have just been started, so no earlier lock can exist.
    pub(crate) fn config(&self, keeper: &Keeper) -> Config {
        let config = Config::new(self.url()).expect("a good URL");
        let config = config.namespace("suite").restart_guard(false);
        let config = config
            .lease(LONG)
            .connect_timeout("60s")
            .store_timeout("60s");
        config.credentials(keeper.clone())
    }

    pub(crate) fn client(&self, keeper: &Keeper) -> Client {
        Client::connect(self.config(keeper)).expect("a client")
    }
}

fn hosts(servers: &[Redis]) -> String {
    let hosts = servers.iter().map(|it| format!("127.0.0.1:{}", it.port()));
    hosts.collect::<Vec<_>>().join(",")
}

fn sentinel_rule(rule: &AclRule) -> &str {
    rule.sentinels().expect("a rule for sentinels")
}

fn allow(redis: &Redis, user: &str, password: &str, rule: &str) {
    let command = format!("ACL SETUSER {user} reset on >{password} {rule}");
    let words: Vec<_> = command.split(' ').collect();
    redis.command(&words);
}

/// Returns the users of the library's connections, by connection id. These are the connections that have a name of the
/// library, and those that subscribe.
pub(crate) fn users(redis: &Redis) -> BTreeMap<String, String> {
    let list = redis.command(&["CLIENT", "LIST"]);
    let fields = |line: &str| -> BTreeMap<String, String> {
        let pairs = line.split(' ').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    let ours = |fields: &BTreeMap<String, String>| {
        fields["name"].starts_with("auto_mutex:") || fields["sub"] != "0"
    };
    // Sentinels subscribe at the servers and at each other, as the default user.
    let theirs = |fields: &BTreeMap<String, String>| fields["user"] == "default";
    let lines = list.text().lines().map(fields);
    lines
        .filter(|fields| ours(fields) && !theirs(fields))
        .map(|fields| (fields["id"].clone(), fields["user"].clone()))
        .collect()
}
