//! Options that a leader does not have, and those that only it has.
use auto_mutex::{LockError, auto_leader, auto_mutex, auto_read, auto_semaphore};

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
