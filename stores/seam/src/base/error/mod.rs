//! The errors: [`LockError`] for locks, [`SetupError`] for set-up, and their causes. They never contain passwords,
//! because addresses are shown without user information.

mod deadlock;
mod for_tests;
mod holder;
mod lock;
mod setup;
mod tls;

pub use auto_mutex_protocol::{HoldKind, LockKind, LossCause, StoreError};
pub use deadlock::DeadlockHop;
pub use holder::{Holder, apart};
pub use lock::LockError;
pub use setup::SetupError;
pub use tls::TlsError;

/// The texts of an error and all its sources.
pub fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
