//! The lock order of clients.

use super::Client;
use crate::background::exit;
use crate::order::{OrderEdge, check};

impl Client {
    /// The orders in which this client's locks are taken: an edge from one label to another means that a lock of the
    /// second was asked for while a lock of the first was held. The chapter [lock
    /// order](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/lock_order) explains which calls count.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use auto_mutex::Client;
    ///
    /// let client = Client::connect("memory://")?;
    /// let [orders, stock] = ["orders", "stock"].map(|name| client.mutex(name).metrics_label(name));
    /// orders.blocking_synchronize(|_| stock.blocking_synchronize(|_| ()))??;
    /// let edges = client.lock_order();
    /// assert_eq!((&*edges[0].before.label, &*edges[0].after.label), ("orders", "stock"));
    /// assert!(!edges[0].inverted);
    ///
    /// stock.blocking_synchronize(|_| orders.blocking_synchronize(|_| ()))??;
    /// assert!(client.lock_order().iter().all(|edge| edge.inverted));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn lock_order(&self) -> Vec<OrderEdge> {
        self.core().order.edges()
    }

    /// Fails a test if locks of this client are taken in opposite orders. Two calls one after the other are enough to
    /// show the problem: no call needs to hang.
    ///
    /// # Panics
    ///
    /// If there are such locks. The message has both locks and where they were taken.
    ///
    /// ```should_panic
    /// # fn main() {
    /// use auto_mutex::{Client, LockError, auto_mutex};
    ///
    /// #[auto_mutex]
    /// fn stock(then: impl FnOnce() -> Result<(), LockError>) -> Result<(), LockError> {
    ///     then()
    /// }
    ///
    /// #[auto_mutex]
    /// fn orders(then: impl FnOnce() -> Result<(), LockError>) -> Result<(), LockError> {
    ///     then()
    /// }
    ///
    /// let client = Client::connect("memory://").unwrap();
    /// client.blocking_scope(|| {
    ///     orders(|| stock(|| Ok(()))).unwrap();
    ///     stock(|| orders(|| Ok(()))).unwrap();
    /// });
    /// client.assert_lock_order(); // panics
    /// # }
    /// ```
    #[track_caller]
    pub fn assert_lock_order(&self) {
        check(self.core().order.cycles());
    }
}

/// The lock order of all clients of this process that still exist: see [`Client::lock_order`].
#[must_use]
pub fn lock_order() -> Vec<OrderEdge> {
    let clients = exit::clients();
    clients
        .iter()
        .flat_map(|client| client.order.edges())
        .collect()
}

/// Fails a test if locks of any existing client of this process are taken in opposite orders.
/// [`Client::assert_lock_order`] checks a single client.
///
/// # Panics
///
/// If there are such locks. The message has both locks and where they were taken.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use auto_mutex::Client;
///
/// let client = Client::connect("memory://")?;
/// let [orders, stock] = ["orders", "stock"].map(|name| client.mutex(name).metrics_label(name));
/// orders.blocking_synchronize(|_| stock.blocking_synchronize(|_| ()))??;
/// auto_mutex::assert_lock_order();
/// # Ok(()) }
/// ```
#[track_caller]
pub fn assert_lock_order() {
    let clients = exit::clients();
    let cycles = clients.iter().flat_map(|client| client.order.cycles());
    check(cycles.collect());
}
