//! The attribute at work, on `memory://`: one file per topic.

#[path = "attribute/kinds.rs"]
mod kinds;
#[path = "attribute/support.rs"]
mod support;
