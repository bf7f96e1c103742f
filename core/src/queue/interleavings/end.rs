//! The member ends at any point: by a shutdown, a drain, the death of its background thread, or the drop of its last
//! handle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::check;
use super::process::{Cluster, Process, beside_each_other};
use super::section::{Shape, inside, leave, roll, wait};
use crate::base::error::LockError;
use crate::queue::Want;
use crate::queue::tests::wants;
use crate::store::{Share, Store as _};

/// Runs a section. It may fail, but only with [`LockError::ShutDown`].
fn section(process: &Process, want: &Want, cluster: &Cluster) {
    let ended = match roll(2) {
        0 => process.section(want, &cluster.witness),
        _ => process.section_or_not(want, &cluster.witness),
    };
    assert!(
        matches!(ended, Ok(()) | Err(LockError::ShutDown)),
        "{ended:?}"
    );
}

#[test]
fn a_shutdown_releases_what_is_held_and_refuses_the_rest() {
    check(|| {
        let shape = Shape::any();
        let cluster = beside_each_other(Cluster::of(2), 4, move |cluster, number| {
            let (ending, other) = (&cluster.processes[0], &cluster.processes[1]);
            match number {
                0 => {
                    let flushed = ending.member.shut_down(Duration::from_secs(1));
                    assert!(flushed, "something was not answered");
                }
                1 => other.section(&shape.want(), &cluster.witness).unwrap(),
                _ => section(ending, &shape.want(), cluster),
            }
        });
        cluster.end();
    });
}

#[test]
fn nobody_gets_a_lock_once_a_shutdown_has_come_by() {
    check(|| {
        let closed = Arc::new(AtomicBool::new(false));
        let cluster = beside_each_other(Cluster::of(1), 2, move |cluster, number| {
            let process = &cluster.processes[0];
            if number == 0 {
                process.member.begin_shutdown();
                closed.store(true, Ordering::Relaxed);
                return;
            }
            match process.enter(&wants(Share::MUTEX)).and_then(wait) {
                Ok(hold) => {
                    inside(&hold, &cluster.witness);
                    let closed = closed.load(Ordering::Relaxed);
                    assert!(!closed || !hold.is_valid(), "it has a lock still");
                    leave(hold);
                }
                Err(error) => assert!(matches!(error, LockError::ShutDown), "{error:?}"),
            }
        });
        cluster.end();
    });
}

#[test]
fn a_drain_lets_holders_end_and_refuses_the_rest() {
    check(|| {
        let shape = Shape::any();
        let cluster = beside_each_other(Cluster::of(2), 4, move |cluster, number| {
            let (draining, other) = (&cluster.processes[0], &cluster.processes[1]);
            match number {
                0 => draining.member.start_draining(),
                1 => other.section(&shape.want(), &cluster.witness).unwrap(),
                _ => section(draining, &shape.want(), cluster),
            }
        });
        assert!(cluster.processes[0].member.held().is_empty());
        cluster.end();
    });
}

#[test]
fn nobody_gets_a_lock_once_a_drain_has_come_by() {
    check(|| {
        let drained = Arc::new(AtomicBool::new(false));
        let cluster = beside_each_other(Cluster::of(1), 2, move |cluster, number| {
            let process = &cluster.processes[0];
            if number == 0 {
                process.member.start_draining();
                drained.store(true, Ordering::Relaxed);
                return;
            }
            let late = drained.load(Ordering::Relaxed);
            match process.enter(&wants(Share::MUTEX)).and_then(wait) {
                Ok(hold) => {
                    assert!(!late, "a new lock");
                    inside(&hold, &cluster.witness);
                    leave(hold);
                }
                Err(error) => assert!(matches!(error, LockError::ShutDown), "{error:?}"),
            }
        });
        cluster.end();
    });
}

#[test]
fn whoever_waits_is_told_when_the_engine_dies() {
    check(|| {
        let shape = Shape::any();
        let cluster = beside_each_other(Cluster::of(2), 4, move |cluster, number| {
            let (dying, other) = (&cluster.processes[0], &cluster.processes[1]);
            match number {
                0 => {
                    dying.member.abandon();
                    // An ending background thread also calls `Store::close`.
                    dying.store.close();
                }
                1 => other.section(&shape.want(), &cluster.witness).unwrap(),
                _ => section(dying, &shape.want(), cluster),
            }
        });
        cluster.end();
    });
}

#[test]
fn a_client_without_handles_ends_when_its_last_lock_is_released() {
    check(|| {
        let shape = Shape::any();
        let cluster = beside_each_other(Cluster::calm(1), 1, move |cluster, _| {
            let process = &cluster.processes[0];
            let enter = |_| process.enter(&shape.want()).unwrap();
            let waiting: Vec<_> = (0..3).map(enter).collect();
            let witness = cluster.witness.clone();
            let each = |acquire| {
                let witness = witness.clone();
                shuttle::thread::spawn(move || {
                    let hold = wait(acquire).unwrap();
                    inside(&hold, &witness);
                    leave(hold);
                })
            };
            let threads: Vec<_> = waiting.into_iter().map(each).collect();
            process.member.orphan();
            for thread in threads {
                thread.join().unwrap();
            }
        });
        assert_eq!(cluster.witness.served(), 3);
        cluster.pass(Duration::from_secs(1));
        cluster.ended();
    });
}
