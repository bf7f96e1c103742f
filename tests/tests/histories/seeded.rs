//! Deployments that cannot keep the promises: the same processes and the same check, which must find the violation.

use std::thread;
use std::time::Duration;

use auto_mutex_tests::history::{Lock, holds, read};
use auto_mutex_tests::real_time::real_time;

use crate::field::{Field, Plan};
use crate::ground::Ground;
use crate::verdict::fault;

const BRIEF: Duration = Duration::from_secs(2);

/// Repeats a contest until the check finds a fault in its history. `capacity` replaces the capacity of the lock in the
/// check.
fn is_seen(
    test: &'static str,
    kind: &'static str,
    ground: impl Fn() -> Ground,
    capacity: Option<u32>,
) {
    for _ in 0..10 {
        let plan = Plan {
            test,
            kind,
            duration: BRIEF,
        };
        let mut field = Field::open(plan, ground());
        thread::sleep(BRIEF);
        field.close();
        let histories = holds(&read(&field.file()));
        let (lock, history) = &histories["n"];
        let lock = capacity.map_or(*lock, |capacity| Lock { capacity });
        if let Some(text) = fault(&lock, history) {
            return println!("{text}");
        }
    }
    panic!("nothing was seen");
}

#[test]
fn two_servers_that_know_nothing_of_each_other_are_no_mutex() {
    let _watch = real_time();
    is_seen("two servers, mutex", "mutex", || Ground::apart(2), None);
}

#[test]
fn four_permits_are_not_three() {
    let _watch = real_time();
    is_seen("four permits", "semaphore:4", || Ground::apart(1), Some(3));
}
