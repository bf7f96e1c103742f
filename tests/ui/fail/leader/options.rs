//! Options that a leader does not have, and those that only it has.
use auto_mutex::{LockError, Term, auto_leader, auto_mutex, auto_read, auto_semaphore};

type Out = Result<(), LockError>;

#[auto_leader(
    expire = 100, block = 10, at_least = 60, retain = 1, retries = 3, interval = 1, on_timeout = skip,
    on_error = panic, on_lost = finish, keys = [1, 2], was = "old", owner = 5, reentrant = false, permits = 5,
    guard = g, explicit
)]
fn of_locks() -> Out { Ok(()) }

#[auto_leader(stop_whithin = 5, lease_time = 15, timeout = 2, scheduler)]
fn unknown() -> Out { Ok(()) }
#[auto_mutex(value = "x")] fn mutex() -> Out { Ok(()) }
#[auto_semaphore(permits = 2, stop_within = 5)] fn semaphore() -> Out { Ok(()) }
#[auto_read(progress = 60, on_overrun = abort)] fn read() -> Out { Ok(()) }
#[auto_leader(on_overrun = exit, stop_within = 0, progress = "60")] fn values() -> Out { Ok(()) }
#[auto_leader(on_overrun = Overrun::Abort, name = "{shard}")] fn more_values(shard: u32) -> Out { Ok(()) }

/// What other libraries call it, and values without a word.
#[auto_leader(5)] fn number() -> Out { Ok(()) }
#[auto_leader("scheduler")] fn text() -> Out { Ok(()) }
#[auto_leader(5 + 5)] fn sum() -> Out { Ok(()) }
#[auto_leader(timeout = 5, lease = 5, auto_renew = true, keep = 5, stop = 5, fair)] fn elsewhere() -> Out { Ok(()) }

/// No lease is long enough, or no body quick enough.
#[auto_leader(stop_within = 15.1)] fn half_of_the_longest_lease() -> Out { Ok(()) }
#[auto_leader(stop_within = "1m")] fn a_minute() -> Out { Ok(()) }
#[auto_leader(stop_within = "99ms", on_overrun = abort)] fn aborts_too_soon() -> Out { Ok(()) }

struct Scheduler;

/// A mistake in the options is the only one: callers pass no term.
#[auto_leader(expire = 10)] async fn leads(shard: u32, term: &Term) -> Out { println!("{shard}"); term.check() }
#[auto_mutex]
impl Scheduler {
    #[auto_leader(block = 10)] fn lead(&self, term: &Term) -> Out { term.check() }
}
async fn calls(scheduler: &Scheduler) -> Out {
    scheduler.lead()?;
    leads(5).await
}
