//! TLS, over our own TCP connections or over connections that the program makes.

mod fault;
mod session;
#[cfg(repository)]
#[cfg(all(test, feature = "tls"))]
mod tests;
mod trust;

pub(super) use self::session::Session;
pub(super) use self::trust::trust;
