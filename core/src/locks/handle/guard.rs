//! The public methods that guards have in common, as macros.

/// The methods of all guards, for a type with a field `holding`.
macro_rules! guard_methods {
    ($guard:ident) => {
        impl $guard {
            /// The time until `expire` ends: [`Duration::MAX`](std::time::Duration::MAX) without `expire`, and zero if
            /// the lock is lost.
            #[must_use]
            pub fn expires_in(&self) -> std::time::Duration {
                self.holding.expires_in()
            }

            /// Whether another client may hold the lock by now, or the handle has released it. This never changes back
            /// to `false`. The guard of a nested call is lost after that call's own `expire`, although the outer guards
            /// still hold the lock.
            #[must_use]
            pub fn is_lost(&self) -> bool {
                self.holding.is_lost()
            }

            /// Completes when the lock is lost or its handle has released it.
            ///
            /// # Cancel safety
            ///
            /// Dropping the future changes nothing.
            pub async fn lost(&self) {
                self.holding.holds().ended().await;
            }

            /// Returns an error if the lock is no longer held, for use with `?`. Does not ask the store.
            ///
            /// # Errors
            ///
            /// [`LockError::Lost`](crate::LockError::Lost).
            pub fn check(&self) -> Result<(), $crate::base::error::LockError> {
                self.holding.check()
            }

            /// Restarts `expire` from now with the given length, and waits for the store to confirm that the lock is
            /// held. In a nested call, this also restarts the `expire` of the outer calls.
            ///
            /// # Errors
            ///
            /// [`LockError::Lost`](crate::LockError::Lost) if the lock is no longer held,
            /// [`LockError::InvalidOption`](crate::LockError::InvalidOption) for less than 10 ms or an invalid
            /// duration, and [`LockError::Unavailable`](crate::LockError::Unavailable).
            ///
            /// # Cancel safety
            ///
            /// `expire` restarts when the future is first polled, whether or not it completes.
            pub async fn refresh(
                &self,
                expire: impl $crate::base::duration::IntoDuration,
            ) -> Result<(), $crate::base::error::LockError> {
                let expire = $crate::base::duration::refreshed(expire)?;
                self.holding.refresh(expire).await
            }

            /// Like [`refresh`](Self::refresh), but blocks the thread. The errors are the same.
            pub fn blocking_refresh(
                &self,
                expire: impl $crate::base::duration::IntoDuration,
            ) -> Result<(), $crate::base::error::LockError> {
                $crate::base::wait::block_on(self.refresh(expire))
            }

            /// Lets the release free the lock at once, although `at_least` is not over: for a body that has failed, so
            /// that another process may try again. A nested call ends the `at_least` of the outer calls, too.
            ///
            /// ```
            /// use auto_mutex::{LockError, auto_mutex};
            ///
            /// #[auto_mutex(name = "import", block = 0, at_least = "36h", guard = lock)]
            /// async fn import() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            ///     let done: Result<(), std::io::Error> = async { Ok(()) }.await; // the work
            ///     done.inspect_err(|_| lock.end_at_least())?;
            ///     Ok(())
            /// }
            /// ```
            pub fn end_at_least(&self) {
                self.holding
                    .holds()
                    .all()
                    .iter()
                    .for_each(|hold| hold.end_at_least());
            }

            /// For `auto-mutex run`: the time until the lock is lost, unless its lease is renewed.
            #[doc(hidden)]
            #[must_use]
            pub fn ends_in(&self) -> std::time::Duration {
                self.holding.ends_in()
            }

            /// For the crate `auto-mutex-fence`.
            #[doc(hidden)]
            #[must_use]
            pub fn fencing_tokens(&self) -> Vec<$crate::queue::FencingToken> {
                self.holding.holds().fencing_tokens()
            }

            pub(crate) async fn run_body<T>(
                mut self,
                body: impl AsyncFnOnce(&Self) -> T,
            ) -> Result<T, $crate::base::error::LockError> {
                let holds = self.holding.begin_body();
                $crate::caller::run(holds, body(&self)).await
            }

            pub(crate) fn run_blocking_body<T>(mut self, body: impl FnOnce(&Self) -> T) -> T {
                let holds = self.holding.begin_body();
                let _entered = $crate::caller::enter_body(&holds);
                body(&self)
            }
        }

        impl $crate::locks::handle::Guard for $guard {
            fn holds(&self) -> &$crate::queue::Holds {
                self.holding.holds()
            }
        }
    };
}
pub(crate) use guard_methods;

/// The methods of a guard of one lock.
macro_rules! single_guard_methods {
    ($guard:ident) => {
        impl $guard {
            /// The name of the lock as given to the handle: `client.mutex(guard.name())` is the same lock.
            ///
            /// The guard of an annotated function, or of an adopted ticket, has no handle. Its name is complete, with
            /// the namespace, as in errors.
            #[must_use]
            pub fn name(&self) -> &str {
                let complete = || self.holding.first().name().as_str();
                let handle = self.holding.last.as_ref();
                handle.map_or_else(complete, |handle| handle.name())
            }

            /// A number that grows with every grant of this lock, for the protected resource to check. It fits into a
            /// signed 64-bit column.
            #[must_use]
            pub fn fencing_token(&self) -> u64 {
                self.holding.first().grant.token
            }

            /// How long the call waited for the lock.
            #[must_use]
            pub fn waited(&self) -> std::time::Duration {
                self.holding.first().waited()
            }

            /// How often the call asked the store for the lock; at least 1.
            #[must_use]
            pub fn attempts(&self) -> u32 {
                self.holding.first().grant.attempts
            }
        }

        impl From<$crate::locks::handle::Holding> for $guard {
            fn from(holding: $crate::locks::handle::Holding) -> Self {
                Self { holding }
            }
        }

        impl std::fmt::Debug for $guard {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($guard))
                    .field("name", &self.name())
                    .field("fencing_token", &self.fencing_token())
                    .field("lost", &self.is_lost())
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use single_guard_methods;

macro_rules! unlock_methods {
    ($guard:ident) => {
        impl $guard {
            /// Releases the lock, and waits for the store to confirm that it was held until now. Returns `false` if
            /// other guards share the hold (re-entry), because then nothing is released yet.
            ///
            /// If the next waiter of this process may get the lock directly
            /// ([`local_handoff`](crate::Config::local_handoff)), it does so immediately, and the store is not asked.
            /// The lock then counts as held if its lease was valid by the local clock.
            ///
            /// # Errors
            ///
            /// [`LockError::Lost`](crate::LockError::Lost) if the lock was lost before the release, or its handle had
            /// released it. [`LockError::Unavailable`](crate::LockError::Unavailable) if the store does not answer
            /// within `store_timeout`; the release is resent until it does.
            ///
            /// # Cancel safety
            ///
            /// The lock is released, whether or not the future completes.
            pub async fn unlock(self) -> Result<bool, $crate::base::error::LockError> {
                let mut holding = self.holding;
                holding.unlock().await
            }

            /// Like [`unlock`](Self::unlock), but blocks the thread. The errors are the same.
            pub fn blocking_unlock(self) -> Result<bool, $crate::base::error::LockError> {
                $crate::base::wait::block_on(self.unlock())
            }
        }
    };
}
pub(crate) use unlock_methods;
