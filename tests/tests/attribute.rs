//! The attribute at work, on `memory://`: one file per topic.

#[path = "attribute/async_traits.rs"]
mod async_traits;
#[path = "attribute/blocks.rs"]
mod blocks;
#[path = "attribute/bodies.rs"]
mod bodies;
#[path = "attribute/executors.rs"]
mod executors;
#[path = "attribute/futures.rs"]
mod futures_returned;
#[path = "attribute/handlers.rs"]
mod handlers;
#[path = "attribute/keys.rs"]
mod keys;
#[path = "attribute/kinds.rs"]
mod kinds;
#[path = "attribute/lints.rs"]
mod lints;
#[path = "attribute/loss.rs"]
mod loss;
#[path = "attribute/names.rs"]
mod names;
#[path = "attribute/options.rs"]
mod options;
#[path = "attribute/reentry.rs"]
mod reentry;
#[path = "attribute/support.rs"]
mod support;
