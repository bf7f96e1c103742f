//! The targets of all events and spans. The guide's page on observation lists them.

/// Calls.
pub const ACQUIRE: &str = "auto_mutex::acquire";
/// Holds and leaders.
pub const HOLD: &str = "auto_mutex::hold";
/// The order in which locks are taken.
pub const ORDER: &str = "auto_mutex::order";
/// Connections, servers and set-up.
pub const STORE: &str = "auto_mutex::store";
