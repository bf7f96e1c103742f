//! What the locks of [auto-mutex](https://docs.rs/auto-mutex) and its engines share: the interface between the two, and
//! what both use, such as names, errors, time and configuration. Programs use that crate; engines find all they need in
//! [`store`].

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
