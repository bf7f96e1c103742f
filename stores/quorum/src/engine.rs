//! [`QuorumEndpoint`]: the engine of a quorum, made of several engines of one server each.

use std::sync::Arc;

use auto_mutex_seam::ServerKind;
use auto_mutex_seam::store::{
    Checked, Engine, Layout, MemberId, Parsed, Reader, Scheme, Source, StoreOptions, Unconnected,
    invalid, parse, same_kind,
};

use super::driver::Driver;
use super::inspector::Inspector;
use super::store::QuorumStore;

inventory::submit! {
    Scheme { names: &["redlock"], parse: |_, rest| redlock(rest), of_several: Some(of_several) }
}

const LARGEST: usize = 15;

#[derive(Clone, Debug)]
pub(crate) struct QuorumEndpoint {
    nodes: Vec<Arc<dyn Engine>>,
}

/// `[user[:password]@]host[:port],…[/database][?parameters]`: the same URL with `redis://` for each server.
fn redlock(rest: &str) -> Parsed {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let (login, servers) = match authority.rsplit_once('@') {
        Some((login, servers)) => (format!("{login}@"), servers),
        None => (String::new(), authority),
    };
    let servers = servers.split(',');
    let nodes = servers.map(|server| parse(&format!("redis://{login}{server}{after}")));
    of_several(nodes.collect::<Result<_, _>>()?)
}

fn of_several(nodes: Vec<Arc<dyn Engine>>) -> Parsed {
    if nodes.iter().any(|node| node.layout() != Layout::OneServer) {
        return Err(invalid(
            "a quorum is made of single servers: `redis://`, `rediss://` or `unix://`",
        ));
    }
    if nodes.len() < 3 || nodes.len().is_multiple_of(2) || nodes.len() > LARGEST {
        return Err(invalid(
            "a quorum needs 3, 5, 7 … 15 servers: an even number only makes it weaker",
        ));
    }
    let mut servers: Vec<_> = nodes.iter().map(|node| node.servers()).collect();
    servers.sort_unstable();
    servers.dedup();
    if servers.len() < nodes.len() {
        return Err(invalid("a server of the quorum is named twice"));
    }
    Ok(Arc::new(QuorumEndpoint { nodes }))
}

impl Engine for QuorumEndpoint {
    fn scheme(&self) -> &'static str {
        "redlock"
    }

    fn layout(&self) -> Layout {
        Layout::Quorum
    }

    fn servers(&self) -> String {
        let servers: Vec<_> = self.nodes.iter().map(|node| node.servers()).collect();
        servers.join(",")
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|other| {
            let is_known = |node: &Arc<dyn Engine>| {
                let mut others = other.nodes.iter();
                others.any(|other| node.is_same_store(&**other))
            };
            other.nodes.len() == self.nodes.len() && self.nodes.iter().all(is_known)
        })
    }

    fn parts(&self) -> &[Arc<dyn Engine>] {
        &self.nodes
    }

    fn asking(&self, source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        let source = source.of_kind(ServerKind::QuorumMember);
        let nodes = self.nodes.iter().map(|node| node.asking(&source));
        let nodes = nodes.collect::<Result<_, _>>()?;
        Ok(Arc::new(Self { nodes }))
    }

    fn check(&self, options: &StoreOptions) -> Checked {
        let reason = "the servers of a quorum are independent: use more of them";
        match options.replicas {
            Some(_) => Err(("replicas", reason)),
            None => Ok(()),
        }
    }

    fn unconnected(&self, options: &StoreOptions, member: MemberId) -> Unconnected {
        let options = StoreOptions {
            is_voter: true,
            ..*options
        };
        let nodes = self.nodes.iter();
        let nodes = nodes.map(|node| node.unconnected(&options, member));
        let (stores, drivers) = nodes.unzip();
        let store = Arc::new(QuorumStore::new(stores));
        (store.clone(), Box::new(Driver::new(store, drivers)))
    }

    fn reader(&self, options: &StoreOptions) -> Box<dyn Reader> {
        let nodes = self.nodes.iter().map(|node| node.reader(options));
        Box::new(Inspector::new(nodes))
    }
}
