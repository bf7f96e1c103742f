//! Points 1 and 2: clients that die between the grant of a permit and its reply, or at any other moment.

use std::time::{Duration, Instant};

use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::seed::Seed;
use auto_mutex_tests::worker::{Setup, Worker};

use crate::rig::Rig;

const LEASE: Duration = Duration::from_millis(500);

/// Starts three processes that each ask for one of two permits.
fn send_in(rig: &Rig) -> [Worker; 3] {
    [(); 3].map(|()| {
        let mut worker = rig.worker(LEASE);
        worker.say("acquire s 2");
        worker
    })
}

#[tokio::test]
async fn semaphore_01_a_crash_at_any_moment_loses_no_permit() {
    let mut seed = Seed::announce("semaphore_01_a_crash_at_any_moment_loses_no_permit");
    let rig = Rig::new();
    let observer = rig.client();
    let mut gotten = 0;
    for round in 0..24 {
        let mut workers = send_in(&rig);
        // In every third round, two processes hold permits when they are killed. Otherwise they are still asking.
        if round % 3 == 0 {
            let mut sent = Instant::now();
            becomes("two are inside", async || {
                // If all processes stalled for a lease, their permits have ended, and they do not ask again.
                if sent.elapsed() > 10 * LEASE {
                    workers = send_in(&rig);
                    sent = Instant::now();
                }
                rig.redis.held() == 2
            })
            .await;
        } else {
            tokio::time::sleep(Duration::from_micros(seed.below(3000))).await;
        }
        for worker in &mut workers {
            worker.kill9();
            gotten += u32::from(worker.overhear().is_some());
        }
        assert!(rig.redis.held() <= 2);
    }
    assert!(gotten > 0, "nobody was killed inside");
    // The following calls would show a permit that is lost forever, or one too many.
    let semaphore = observer.semaphore("s", 2);
    let both = soon("all permits come back", semaphore.acquire_many(2)).await;
    assert_eq!(semaphore.available().await.unwrap(), 0);
    assert_eq!(both.unwrap().release().await.unwrap(), 2);
}

#[tokio::test]
async fn semaphore_02_a_reply_to_a_client_that_dies_loses_no_permit() {
    let rig = Rig::new();
    let observer = rig.client();
    let (permits, jobs) = (observer.semaphore("s", 1), observer.semaphore("jobs", 0));
    for token in ["one", "two"] {
        jobs.signal(token).await.unwrap();
    }
    let setup = Setup {
        url: rig.redis.url_at(rig.proxy.port()),
        ..rig.worker_setup(LEASE * 6)
    };
    let mut dying = [setup.start(), setup.start()];
    rig.proxy.hold_replies();
    dying[0].say("acquire s 1");
    dying[1].say("acquire jobs 0");
    becomes("the store has given both", async || rig.redis.held() == 2).await;
    for worker in &mut dying {
        worker.kill9();
        assert_eq!(worker.overhear(), None, "the reply did not arrive");
    }
    let permit = soon("the permit comes back", permits.acquire()).await;
    assert_eq!(permit.unwrap().release().await.unwrap(), 1);
    // The job of the killed process returns to its place, before the job that was not delivered.
    becomes("the job comes back", async || {
        jobs.available().await.unwrap() == 2
    })
    .await;
    for token in ["one", "two"] {
        let job = soon("a job", jobs.acquire()).await.unwrap();
        assert_eq!(job.token(), Some(token));
        job.release().await.unwrap();
    }
    assert_eq!(jobs.available().await.unwrap(), 0, "none came twice");
}

#[tokio::test]
async fn semaphore_02_a_waiter_that_dies_takes_no_permit_with_it() {
    let rig = Rig::new();
    let (holder, live) = (rig.client(), rig.client());
    let permit = holder.semaphore("s", 1).acquire().await.unwrap();
    let mut dead = rig.worker(LONG);
    dead.say("acquire s 1");
    becomes("it waits", async || rig.redis.waiting() == 1).await;
    dead.kill9();
    // The release grants the permit to a killed client, with a lease that no test outlives.
    assert!(permit.release().await.is_ok());
    let permit = soon("the next one", live.semaphore("s", 1).acquire()).await;
    assert_eq!(permit.unwrap().release().await.unwrap(), 1);
}
