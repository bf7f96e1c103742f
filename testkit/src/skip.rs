//! [`skip_locks`]: bodies run, but no lock excludes anybody.

use auto_mutex_core::{Config, SetupError, Weakness, client, setup};

use super::world::Shared;

/// Sets this process up so that no lock excludes anybody: for tests of handlers that should run, but whose locks are
/// not what is tested. No store is needed.
///
/// It makes a global client, as [`setup`](auto_mutex_core::setup) does. Each call gets its lock at once, also while
/// others hold it. Everything else is as usual: guards, growing fencing tokens,
/// [`current`](fn@auto_mutex_core::current), [`assert_held!`](auto_mutex_core::assert_held), re-entry, `expire`, and
/// errors for calls that would wait for a lock of their own task. A call that waits for a notification or a token still
/// waits. Clients of a [`scope`](auto_mutex_core::Client::scope) lock as ever.
///
/// Every test may call it first, in any order. It logs a warning once, and
/// [`Client::guarantees`](auto_mutex_core::Client::guarantees) has
/// [`Weakness::LocksSkipped`](auto_mutex_core::Weakness::LocksSkipped).
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use auto_mutex::{LockError, auto_mutex};
///
/// #[auto_mutex(key = month, block = 0)]
/// async fn close(month: u32) -> Result<u32, LockError> {
///     Ok(month)
/// }
///
/// auto_mutex::test::skip_locks();
/// let (one, other) = tokio::join!(close(5), close(5));
/// assert_eq!((one.unwrap(), other.unwrap()), (5, 5));
/// # });
/// ```
///
/// # Panics
///
/// If there is another global client, and in a [`World`](super::World), whose hosts have their own clients.
#[track_caller]
pub fn skip_locks() {
    assert!(
        !Shared::is_here(),
        "`skip_locks` is for tests without a World"
    );
    let config = Config::new("memory://").map(Config::without_exclusion);
    match config.and_then(setup) {
        Err(SetupError::AlreadySetUp) if !skips() => {
            panic!(
                "`skip_locks` comes too late: this process already has a global client, whose locks exclude each other"
            )
        }
        Ok(()) | Err(SetupError::AlreadySetUp) => {}
        Err(error) => panic!("`skip_locks` failed: {error}"),
    }
}

/// Whether the locks of the global client exclude nobody.
fn skips() -> bool {
    client().is_ok_and(|client| {
        let weaknesses = client.guarantees().weaknesses();
        weaknesses.contains(&Weakness::LocksSkipped)
    })
}
