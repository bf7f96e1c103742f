//! Who waits for whom, as a document.

use auto_mutex::operator;
use serde::Serialize;

use super::json::{self, Holder, Waiter};

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chain {
    pub(crate) cycle: bool,
    #[serde(skip_serializing_if = "is_not")]
    possible: bool,
    hops: Vec<Hop>,
}

/// One waiter of one lock.
#[derive(Clone, Debug, Serialize)]
struct Hop {
    depth: usize,
    #[serde(skip_serializing_if = "is_not")]
    possible: bool,
    name: String,
    kind: Option<&'static str>,
    holder: Option<Holder>,
    waiter: Option<Waiter>,
}

impl Chain {
    pub(crate) fn of(chain: &operator::Chain<'_>) -> Self {
        let hop = |hop: &operator::Hop<'_>| Hop {
            depth: hop.depth,
            possible: hop.possible,
            name: hop.lock.name.clone(),
            kind: hop.lock.kind.map(json::kind),
            holder: hop.holder.map(Holder::of),
            waiter: hop.waiter.map(Waiter::of),
        };
        Self {
            cycle: chain.cycle,
            possible: chain.possible,
            hops: chain.hops.iter().map(hop).collect(),
        }
    }
}

fn is_not(flag: &bool) -> bool {
    !flag
}
