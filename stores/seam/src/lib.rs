//! What the engines of [auto-mutex](https://docs.rs/auto-mutex) are built on, and its locks on them: the interface between the
//! two, and the words that both use. Use them through that crate; engines find all they need in [`store`].

#[doc(hidden)]
pub mod base;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod observer;
pub mod store;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub mod testing;

pub use base::error::{DeadlockHop, HoldKind, Holder, LockError, LockKind, LossCause};
pub use base::error::{SetupError, StoreError, TlsError};
#[doc(hidden)]
pub use config::Settings;
pub use config::{Config, Deadlock};
pub use observer::{Metric, MetricKind, Observer};
pub use store::ServerHealth;
pub use store::credentials::{Credentials, CredentialsProvider, ServerAddress, ServerKind};
pub use store::guarantees::{AfterFailover, AfterRestart, Eviction, Guarantees, Weakness};
