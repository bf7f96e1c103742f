#![doc = include_str!("../README.md")]

mod dialect;
mod error;
mod fence;
#[cfg(feature = "object_store")]
mod object_store;
#[cfg(feature = "prove")]
mod prove;
mod ready;
#[cfg(feature = "redis")]
mod redis;
mod sql;
mod token;

pub use dialect::Dialect;
pub use error::FenceError;
pub use fence::{Fence, FenceFuture, Resource};
#[cfg(feature = "object_store")]
pub use object_store::FencedPut;
#[cfg(feature = "prove")]
pub use prove::{Proof, ProveError, Prover, prove};
pub use ready::{blocking_ready, ready};
#[cfg(feature = "redis")]
pub use redis::FencedScript;
pub use sql::Table;
pub use token::{Token, Tokens};
