//! The errors: [`LockError`] for locks, [`SetupError`] for set-up, and their causes.
//!
//! No error of this crate ever contains a password: addresses are shown without user information.

pub(crate) mod kind;
mod lock;
mod setup;
mod store;
mod tls;

pub use lock::{Holder, LockError};
pub use setup::SetupError;
pub use store::StoreError;
pub(crate) use store::StoreErrorKind;
pub use tls::TlsError;
