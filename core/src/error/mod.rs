//! The errors: [`LockError`] for locks, [`SetupError`] for set-up, and their causes.
//!
//! No error of this crate ever contains a password: addresses are shown without user information.

mod deadlock;
mod for_tests;
mod holder;
pub(crate) mod kind;
mod lock;
mod lost;
mod public_message;
mod setup;
mod store;
mod tls;
mod transient;

pub use deadlock::DeadlockHop;
pub use holder::apart;
pub use holder::{HoldKind, Holder};
pub use kind::{LockKind, RW_LOCK};
pub use lock::LockError;
pub use lost::LossCause;
pub use setup::SetupError;
pub use store::StoreError;
pub use store::StoreErrorKind;
pub use tls::TlsError;

/// The texts of an error and of all its sources.
pub fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
