//! Two clients outside the contest that take its lock and deadlock.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use auto_mutex::{Client, Config, Deadlock, LockError};
use auto_mutex_tests::events::LONG;

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::Needs;

/// The name of the other lock.
const ASIDE: &str = "aside";
/// `Config::deadlock_after`.
const AFTER: Duration = Duration::from_millis(200);

/// Two clients take the contest's lock and another lock in opposite order. No task gets the contest's lock until one of
/// the two clients fails.
pub(crate) fn crossed() -> Fault {
    let name = "a deadlock of two others, of which one fails";
    let strike = |field: &mut Field, _round: usize| {
        field.moment();
        let contest = field.lock.contest;
        let connect = || {
            let config = Config::new(field.server.url()).expect("a good URL");
            // A stall must not cost a client its lock, because the loss would end the deadlock.
            let config = config.namespace("suite").lease(LONG).longest_lease(LONG);
            let config = config.connect_timeout("60s").store_timeout("60s");
            let config = config.deadlock(Deadlock::Fail).deadlock_after(AFTER);
            Client::connect(config).expect("a client")
        };
        let (one, other) = (connect(), connect());
        let both = Barrier::new(3);
        let (since, results) = thread::scope(|scope| {
            let outside = scope.spawn(|| {
                one.mutex(ASIDE).blocking_synchronize(|_| {
                    both.wait();
                    take_all_of(&one, contest)
                })?
            });
            let inside = scope.spawn(|| {
                with_some_of(&other, contest, || {
                    both.wait();
                    other.mutex(ASIDE).blocking_lock().map(drop)
                })
            });
            both.wait();
            let since = field.now();
            let results = [outside, inside].map(|thread| thread.join().expect("no panic"));
            (since, results)
        });
        for client in [one, other] {
            client.blocking_shutdown();
        }
        let failed = |result: &&Result<(), LockError>| result.is_err();
        let failed: Vec<_> = results.iter().filter(failed).collect();
        let is_one =
            matches!(&*failed, [Err(LockError::Deadlock { cycle, .. })] if cycle.len() == 2);
        assert!(is_one, "{results:?}");
        Some(Struck {
            since,
            alive: field.alive(),
        })
    };
    Fault::in_rounds(name, || Ok(Needs::default()), strike)
}

/// Runs `body` with a part of the contest's lock, during which no other client can get the whole lock.
fn with_some_of(
    client: &Client,
    contest: &str,
    body: impl FnOnce() -> Result<(), LockError>,
) -> Result<(), LockError> {
    match contest {
        "semaphore:3" => client.semaphore("l", 3).blocking_synchronize(|_| body())?,
        "rw" => client.rw_lock("l").blocking_synchronize_write(|_| body())?,
        "multi:3" => {
            let all = client.multi(["l0", "l1", "l2"]);
            all.blocking_synchronize(|_| body())?
        }
        _ => client.mutex("l").blocking_synchronize(|_| body())?,
    }
}

/// Takes the whole lock of the contest.
fn take_all_of(client: &Client, contest: &str) -> Result<(), LockError> {
    match contest {
        "semaphore:3" => client.semaphore("l", 3).blocking_acquire_many(3).map(drop),
        "rw" => client.rw_lock("l").blocking_write().map(drop),
        "multi:3" => client.multi(["l0", "l1", "l2"]).blocking_lock().map(drop),
        _ => client.mutex("l").blocking_lock().map(drop),
    }
}
