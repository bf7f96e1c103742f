//! The errors: [`LockError`] for locks, [`SetupError`] for set-up, and their causes.
//!
//! No error of this crate ever contains a password: addresses are shown without user information.

mod holder;
pub(crate) mod kind;
mod lock;
mod lost;
mod setup;
mod store;
mod tls;

pub(crate) use holder::place;
pub use holder::{HoldKind, Holder};
pub use kind::LockKind;
pub use lock::LockError;
pub use lost::LossCause;
pub use setup::SetupError;
pub use store::StoreError;
pub(crate) use store::StoreErrorKind;
pub use tls::TlsError;

#[cfg(repository)]
#[cfg(test)]
mod tests;
