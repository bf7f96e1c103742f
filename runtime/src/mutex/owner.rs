//! Owners: who shares a hold, instead of the calling task.

use super::Mutex;
use crate::store::Owner;

impl Mutex {
    /// Whoever names the same owner in this client shares the lock, whatever task or thread it is.
    ///
    /// While one of them holds it, [`lock`](Self::lock) of the others enters at once; the guards share one hold, with one
    /// fencing token, and the last one releases it. [`refresh`](Self::refresh), [`is_owned`](Self::is_owned) and
    /// [`unlock`](Self::unlock) of such a handle are about what its owner holds. A call that enters does not restart
    /// `expire`. Another owner is kept out, also inside a protected body of the same task.
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
        self.handle = self.handle.owned_by(Owner::Here(owner.into().into()));
        self
    }

    /// As [`owner`](Self::owner), in the whole cluster: processes that name the same owner share the lock. Each of them
    /// has a lease of its own, all have one fencing token, and the lock is free when the last one has released it.
    /// [`unlock`](Self::unlock) of the handle ends it for all of them at once.
    pub fn cluster_owner(mut self, owner: impl Into<String>) -> Self {
        self.handle = self.handle.owned_by(Owner::Anywhere(owner.into().into()));
        self
    }
}
