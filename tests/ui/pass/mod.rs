//! What must compile, without a warning: each module runs a part of it.
#![deny(warnings)]
#![allow(missing_docs, unreachable_pub, dead_code)]

mod attributes;
mod hostile;
mod kinds;
mod leader;
mod macro_rules;
mod main_sync;
mod one_line;
mod renamed;
mod send;
mod signatures;
mod unsafe_fn;
mod world;
mod world_with_cases;
