//! Leaders whose process hangs.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use auto_mutex::{Client, LockError, Term};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::real_time::real_time;
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

/// That the abort comes before the next term is tested in the test kit's World: a real process may stand still.
#[tokio::test]
async fn a_leader_that_hangs_is_aborted_before_another_one_leads() {
    let _watch = real_time();
    // It is cut off, or makes no progress.
    for more in ["", "progress=0.5"] {
        let rig = Rig::new();
        let mut setup = rig.worker_setup(LEASE);
        setup.url = rig.redis.url_at(rig.proxy.port());
        let mut leader = hanging(&setup, more);
        if more.is_empty() {
            rig.proxy.refuse();
            rig.proxy.cut();
        }
        lead_once(&rig.client()).await;
        assert_eq!(leader.ended().signal(), Some(SIGABRT));
    }
}

#[tokio::test]
async fn a_leader_that_hung_while_suspended_is_aborted_when_it_wakes() {
    let _watch = real_time();
    let rig = Rig::new();
    let mut leader = hanging(&rig.worker_setup(LEASE), "");
    leader.stop();
    lead_once(&rig.client()).await;
    leader.cont();
    assert_eq!(leader.ended().signal(), Some(SIGABRT));
}
