//! A layer for servers built on [tower](https://docs.rs/tower), such as axum and tonic: their requests use a client of
//! your choice. Needs the feature `tower`.

mod service;

pub use service::{Scope, ScopeFuture, ScopeLayer};
