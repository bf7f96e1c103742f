//! The client while its host, its connection or the store fails: in Worlds only, since the faults are theirs.

mod deadlocks;
mod keepers;
mod leaders;
mod stale;
mod waiters;

use auto_mutex::test::World;

use crate::prelude::*;

const LEASE: Duration = Duration::from_secs(4);
/// Requests from broken connections arrive at most so much later.
const LATE: Duration = Duration::from_secs(6);

/// A client on a host of its own.
fn member(world: &World, host: &str) -> Client {
    let config = world.config(host).lease(LEASE).longest_lease(LEASE);
    Client::connect(config.store_timeout("60s")).unwrap()
}

fn members<const N: usize>(world: &World) -> [Client; N] {
    std::array::from_fn(|number| member(world, &format!("host{number}")))
}

#[track_caller]
fn is_lost<T: std::fmt::Debug>(result: Result<T, LockError>) {
    is!(result, Err(LockError::Lost { .. }));
}
