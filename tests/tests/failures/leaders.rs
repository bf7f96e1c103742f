//! Leaders whose process hangs.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use auto_mutex::{Client, LockError, Term};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::worker::{Setup, Worker};

use crate::rig::Rig;

const LEASE: Duration = Duration::from_secs(2);
const SIGABRT: i32 = 6;

/// Waits until the worker leads, and returns the number of its term.
fn leads(worker: &Worker) -> u64 {
    let words = worker.expect("leads s ");
    words[0].parse().expect("a number")
}

/// Leads once and returns the number of the term.
async fn lead_once(client: &Client) -> u64 {
    let body = async |term: &Term| Ok::<_, LockError>(term.number());
    soon("its term", client.leader("s").lead(body))
        .await
        .unwrap()
}

/// Starts a leader that aborts when it hangs, and whose body hangs.
fn hanging(setup: &Setup, more: &str) -> Worker {
    let mut leader = setup.start();
    leader.say(&format!("lead s stop_within=0.5 {more}"));
    leads(&leader);
    leader
}

#[tokio::test]
async fn a_leader_that_hangs_is_aborted_before_another_one_leads() {
    // It is cut off, or makes no progress.
    for more in ["", "progress=0.5"] {
        // A process of a busy machine may be late: it is to end only some 100 ms before its lease.
        let mut late = 0;
        while !is_aborted_in_time(more).await {
            late += 1;
            assert!(late < 5, "two bodies, {more:?}");
        }
    }
}

/// Returns whether the process of the leader had ended before the next leader began.
async fn is_aborted_in_time(more: &str) -> bool {
    let rig = Rig::new();
    let mut setup = rig.worker_setup(LEASE);
    setup.url = rig.redis.url_at(rig.proxy.port());
    let mut leader = hanging(&setup, more);
    if more.is_empty() {
        rig.proxy.refuse();
        rig.proxy.cut();
    }
    lead_once(&rig.client()).await;
    let in_time = leader.has_ended();
    assert_eq!(leader.ended().signal(), Some(SIGABRT));
    in_time
}

#[tokio::test]
async fn a_leader_that_hung_while_suspended_is_aborted_when_it_wakes() {
    let rig = Rig::new();
    let mut leader = hanging(&rig.worker_setup(LEASE), "");
    leader.stop();
    lead_once(&rig.client()).await;
    leader.cont();
    assert_eq!(leader.ended().signal(), Some(SIGABRT));
}
