#![doc = include_str!("../README.md")]

mod dialect;
mod error;
mod fence;
#[cfg(any(
    feature = "rusqlite",
    feature = "sqlx-mysql",
    feature = "sqlx-postgres",
    feature = "sqlx-sqlite",
    feature = "tokio-postgres"
))]
mod sql;
mod token;

pub use dialect::Dialect;
pub use error::FenceError;
pub use fence::{Fence, FenceFuture, Resource};
pub use token::{Token, Tokens};
