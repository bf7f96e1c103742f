//! The clock advances at any moment, by any amount, until all callers have been served or have given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::thread;

use super::check;
use super::process::{Cluster, beside_each_other};
use super::section::{Shape, inside, leave, roll, wait};
use crate::base::error::LockError;
use crate::queue::tests::wants;
use crate::queue::{Holds, Patience, Want};
use crate::store::Share;

/// More steps of the clock than any test needs.
const STEPS: usize = 2000;

/// Runs `each` in `threads` threads, while the clock advances by one of `spans` at a time.
fn while_time_passes(
    cluster: Cluster,
    threads: usize,
    spans: &'static [Duration],
    each: impl Fn(&Cluster) + Send + Sync + Copy + 'static,
) -> Cluster {
    let running = Arc::new(AtomicUsize::new(threads));
    beside_each_other(cluster, threads + 1, move |cluster, number| {
        if number > 0 {
            each(cluster);
            running.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        for _ in 0..STEPS {
            if running.load(Ordering::Relaxed) == 0 {
                break;
            }
            cluster.pass(spans[roll(spans.len())]);
            thread::yield_now();
        }
    })
}

const MILLIS: Duration = Duration::from_millis(1);

/// A request that usually limits its wait, and sometimes has an `expire`.
fn impatient(shape: Shape) -> Want {
    let mut want = shape.want();
    want.patience = match roll(4) {
        0 => Patience::NONE,
        1 => Patience::Queue(Some(MILLIS * 4)),
        2 => Patience::Poll {
            retries: 2,
            interval: MILLIS * 2,
            block: None,
        },
        _ => Patience::Queue(None),
    };
    want.tenure.expire = [None, Some(MILLIS * 10)][roll(2)];
    want
}

#[test]
fn deadlines_and_leases_end_and_the_next_one_goes_on() {
    const SPANS: &[Duration] = &[
        MILLIS,
        Duration::from_millis(6),
        Duration::from_millis(700),
        Duration::from_secs(3),
    ];
    check(|| {
        let shape = Shape::any();
        let cluster = Cluster::of(1 + roll(2));
        let cluster = while_time_passes(cluster, 3, SPANS, move |cluster| {
            for _ in 0..2 {
                let want = impatient(shape);
                let acquire = cluster.any().enter(&want).unwrap();
                match wait(acquire) {
                    Ok(hold) => {
                        inside(&hold, &cluster.witness);
                        // If the hold has an `expire`, it is kept until it is lost.
                        if hold.want().tenure.expire.is_some() {
                            shuttle::future::block_on(Holds::from(hold.clone()).ended());
                            assert!(hold.is_lost());
                        }
                        leave(hold);
                    }
                    Err(LockError::Timeout { .. } | LockError::TooManyAttempts { .. }) => {
                        assert!(want.patience != Patience::Queue(None));
                    }
                    // Every hold that the call was granted had ended before this thread ran again.
                    Err(LockError::Lost { .. }) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        });
        cluster.end();
    });
}

#[test]
fn a_name_that_is_taken_out_of_use_meanwhile_is_looked_up_again() {
    const BEATS: &[Duration] = &[Duration::from_secs(3)];
    check(|| {
        let cluster = Cluster::of(1);
        let cluster = while_time_passes(cluster, 2, BEATS, |cluster| {
            for _ in 0..3 {
                let want = wants(Share::MUTEX);
                cluster.any().section(&want, &cluster.witness).unwrap();
            }
        });
        assert_eq!(cluster.witness.served(), 6);
        cluster.end();
    });
}
