//! Owners: a hold can belong to an owner in place of the calling task.

use super::Mutex;
use crate::store::Owner;

impl Mutex {
    /// Names an owner of the lock. All handles of this client with the same owner share the lock, in any task or thread.
    ///
    /// While one of these handles holds the lock, [`lock`](Self::lock) of the other handles returns at once. All their
    /// guards share one hold with one fencing token. The lock is released when the last guard is dropped.
    /// [`refresh`](Self::refresh), [`is_owned`](Self::is_owned) and [`unlock`](Self::unlock) of such a handle act on
    /// the shared hold. A call that joins the hold does not restart `expire`. A call for another owner waits for the
    /// lock. In a protected body that holds the lock, such a call returns an error, because it would wait for its own
    /// task.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// let order = client.mutex("order").owner("order-17");
    /// let guard = order.blocking_lock()?;
    /// std::thread::scope(|scope| {
    ///     let helper = scope.spawn(|| client.mutex("order").owner("order-17").blocking_try_lock());
    ///     assert!(helper.join().unwrap().is_ok_and(|guard| guard.is_some()));
    /// });
    /// assert!(client.mutex("order").blocking_try_lock()?.is_none());
    /// # drop(guard);
    /// # Ok(()) }
    /// ```
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.handle.owner = Some(Owner::Here(owner.into().into()));
        self
    }

    /// Like [`owner`](Self::owner), but in the whole cluster: processes that name the same owner share the lock. Each
    /// process has its own lease; all processes have the same fencing token. The lock is free when the last process has
    /// released it. [`unlock`](Self::unlock) of the handle releases the lock for all these processes.
    pub fn cluster_owner(mut self, owner: impl Into<String>) -> Self {
        self.handle.owner = Some(Owner::Anywhere(owner.into().into()));
        self
    }
}
