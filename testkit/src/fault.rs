//! [`Fault`]: what a World can do to the code under test, and which of that the tests of this process have done.

use std::sync::atomic::{AtomicU32, Ordering};

macro_rules! faults {
    ($($fault:ident $method:literal)+) => {
        /// A fault that a [`World`](super::World) can cause.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Fault {
            $(
                #[doc = concat!("[`World::", $method, "`](super::World::", $method, ")")]
                $fault,
            )+
        }

        impl Fault {
            /// All faults.
            pub const ALL: &[Self] = &[$(Self::$fault),+];
        }
    };
}

faults! {
    Lose "lose"
    ExpireLease "expire_lease"
    ForceUnlock "force_unlock"
    FailNext "fail_next"
    Disconnect "disconnect"
    Delay "delay"
    Suspend "suspend"
    Kill "kill"
    Fork "fork"
    OomCrash "oom_crash"
    RestartEmpty "restart_empty"
    Failover "failover"
    ClockStep "clock_step"
    Forge "forge"
}

impl Fault {
    pub(super) fn tried(self) {
        TRIED.fetch_or(1 << self as u32, Ordering::Relaxed);
    }
}

/// A bit for each fault.
static TRIED: AtomicU32 = AtomicU32::new(0);

/// The faults that no test of this process has tried so far.
///
/// Call it last: from a test whose name sorts behind all others, with `cargo test -- --test-threads=1`. Test runners
/// that start a process for each test, such as nextest, see the faults of one test only.
///
/// ```
/// use auto_mutex::test::{Fault, Runs, World, coverage};
///
/// assert!(coverage().contains(&Fault::Failover));
/// auto_mutex::test::run(Runs::new(), async |world: World| {
///     world.failover().await;
/// });
/// assert!(!coverage().contains(&Fault::Failover));
/// ```
#[must_use]
pub fn coverage() -> Vec<Fault> {
    let tried = TRIED.load(Ordering::Relaxed);
    let mut faults = Fault::ALL.to_vec();
    faults.retain(|fault| tried & (1 << *fault as u32) == 0);
    faults
}

/// A kind of request to the store, for [`World::fail_next`](super::World::fail_next).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Any request.
    Any,
    /// A request for a lock.
    Acquire,
    /// A renewal of a lease, or of a place in the queue.
    Renew,
    /// A release.
    Release,
    /// A query, such as `is_locked` and `info`.
    Query,
    /// `force_unlock`, `delete`, `signal` and everything else.
    Other,
}
