//! The clock stands still: waiters are served by the actions of other threads, not by timers.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use shuttle::thread;

use super::check;
use super::process::{Cluster, Process, beside_each_other};
use super::section::{Shape, inside, roll, wait};
use crate::locks::handle::Holding;
use crate::queue::Holds;
use crate::queue::tests::wants;
use crate::store::{Op, Share};

#[test]
fn everybody_is_served() {
    check(|| {
        let shape = Shape::any();
        let cluster = beside_each_other(Cluster::calm(1 + roll(2)), 3, move |cluster, _| {
            for _ in 0..2 {
                cluster
                    .any()
                    .section(&shape.want(), &cluster.witness)
                    .unwrap();
            }
        });
        assert_eq!(cluster.witness.served(), 6);
        cluster.end();
    });
}

#[test]
fn who_gives_up_leaves_nothing_behind() {
    check(|| {
        let shape = Shape::any();
        let cluster = beside_each_other(Cluster::calm(1 + roll(2)), 4, move |cluster, number| {
            let process = cluster.any();
            match number {
                0 => process.section(&shape.want(), &cluster.witness).unwrap(),
                _ => process
                    .section_or_not(&shape.want(), &cluster.witness)
                    .unwrap(),
            }
        });
        assert!(cluster.witness.served() > 0);
        cluster.end();
    });
}

#[test]
fn a_body_that_panics_lets_the_next_one_in() {
    check(|| {
        let cluster = beside_each_other(Cluster::calm(1 + roll(2)), 3, |cluster, number| {
            let process = cluster.any();
            if number > 0 {
                return process
                    .section(&wants(Share::MUTEX), &cluster.witness)
                    .unwrap();
            }
            let hold = wait(process.enter(&wants(Share::MUTEX)).unwrap()).unwrap();
            let body = AssertUnwindSafe(|| {
                let guard = Holding::new(hold);
                inside(guard.first(), &cluster.witness);
                // Unwinds as a panic does, but prints nothing.
                resume_unwind(Box::new("as told"));
            });
            assert!(catch_unwind(body).is_err());
        });
        assert_eq!(cluster.witness.served(), 3);
        cluster.end();
    });
}

#[test]
fn a_lock_that_is_broken_goes_to_the_next_one_and_its_holder_learns_of_it() {
    check(|| {
        let cluster = beside_each_other(Cluster::of(1 + roll(2)), 2, |cluster, number| {
            let process = cluster.any();
            if number > 0 {
                return process
                    .section(&wants(Share::MUTEX), &cluster.witness)
                    .unwrap();
            }
            let hold = wait(process.enter(&wants(Share::MUTEX)).unwrap()).unwrap();
            inside(&hold, &cluster.witness);
            // From here on, another caller may hold the lock before this holder notices its loss.
            broken_while(cluster.any(), || {
                shuttle::future::block_on(Holds::from(hold.clone()).ended());
                assert!(hold.is_lost());
            });
            drop(Holding::new(hold));
        });
        assert_eq!(cluster.witness.served(), 2);
        cluster.end();
    });
}

/// Runs `run` while another thread breaks the lock.
fn broken_while(process: &Process, run: impl FnOnce()) {
    let (member, name) = (process.member.clone(), process.name.clone());
    let breaker = thread::spawn(move || {
        let asked = member.with_queue(&name, |local| local.query(&Op::Force));
        asked.unwrap().blocking_wait().unwrap();
    });
    run();
    breaker.join().unwrap();
}

#[test]
fn a_holder_alone_learns_that_its_lock_is_broken() {
    check(|| {
        let cluster = Cluster::of(1);
        let process = &cluster.processes[0];
        let hold = wait(process.enter(&wants(Share::MUTEX)).unwrap()).unwrap();
        broken_while(process, || {
            shuttle::future::block_on(Holds::from(hold.clone()).ended())
        });
        assert!(hold.is_lost());
        drop(Holding::new(hold));
        cluster.end();
    });
}
