//! Leaders whose process or store fails.

use std::cell::Cell;
use std::future::pending;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use auto_mutex::{Client, LeaderInfo, LeaderWatch, LockError, Term};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::redis::Options;
use auto_mutex_tests::worker::{Setup, Worker};

use crate::rig::{Rig, config, waiters};

const LEASE: Duration = Duration::from_secs(2);
const SIGABRT: i32 = 6;

/// Waits until the worker leads, and returns the number of its term.
fn leads(worker: &Worker) -> u64 {
    let words = worker.expect("leads s ");
    words[0].parse().expect("a number")
}

async fn change(watch: &mut LeaderWatch) -> Option<LeaderInfo> {
    let change = soon("a change of the leader", watch.changed()).await;
    change.unwrap()
}

/// Leads once and returns the number of the term.
async fn lead_once(client: &Client) -> u64 {
    let body = async |term: &Term| Ok::<_, LockError>(term.number());
    soon("its term", client.leader("s").lead(body))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_killed_leader_is_missed_and_then_followed() {
    let rig = Rig::new();
    let client = rig.client();
    let mut watch = client.leader("s").watch();
    let mut leader = rig.worker(LEASE);
    leader.say("lead s");
    let first = leads(&leader);
    assert_eq!(change(&mut watch).await.map(|info| info.term), Some(first));
    leader.kill9();
    assert_eq!(change(&mut watch).await, None);
    // The same with a standby.
    let (mut leader, mut standby) = (rig.worker(LEASE), rig.worker(LEASE));
    leader.say("lead s");
    let second = leads(&leader);
    assert_eq!(change(&mut watch).await.map(|info| info.term), Some(second));
    standby.say("lead s");
    waiters(&client.mutex("s"), 1).await;
    leader.kill9();
    let third = leads(&standby);
    assert_eq!(change(&mut watch).await.map(|info| info.term), Some(third));
    assert!(first < second && second < third);
}

#[tokio::test]
async fn a_leader_that_was_suspended_stands_again() {
    let rig = Rig::new();
    let client = rig.client();
    let mut leader = rig.worker(LEASE);
    leader.say("lead s");
    let first = leads(&leader);
    leader.stop();
    let second = Cell::new(0);
    let body = async |term: &Term| {
        second.set(term.number());
        leader.cont();
        leader.expect("ends s");
        waiters(&client.mutex("s"), 1).await;
        Ok::<_, LockError>(())
    };
    soon("the next term", client.leader("s").lead(body))
        .await
        .unwrap();
    let third = leads(&leader);
    assert!(first < second.get() && second.get() < third);
}

/// Starts a leader that aborts when it hangs, and whose body hangs.
fn hanging(setup: &Setup, more: &str) -> Worker {
    let mut leader = setup.start();
    leader.say(&format!("lead s hang abort stop_within=0.5 {more}"));
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

#[tokio::test]
async fn a_leader_that_is_cut_off_ends_in_time_for_the_next_one() {
    const STOP_WITHIN: Duration = Duration::from_secs(1);
    let rig = Rig::new();
    let (leader, standby) = (rig.proxied_leasing(LEASE), rig.client());
    let (begun, ended) = (Cell::new(0), Cell::new(None));
    let leads = async {
        let seat = leader.leader("s").stop_within(STOP_WITHIN);
        let body = async |_: &Term| {
            begun.set(begun.get() + 1);
            let _ends = Ends(&ended);
            pending::<Result<(), LockError>>().await
        };
        seat.lead(body).await
    };
    let follows = async {
        becomes("a body runs", async || begun.get() == 1).await;
        rig.proxy.refuse();
        rig.proxy.cut();
        let body = async |_: &Term| Ok::<_, LockError>(Instant::now());
        let next = soon("the next term", standby.leader("s").lead(body)).await;
        let between = next
            .unwrap()
            .saturating_duration_since(ended.get().expect("ended"));
        // It was told when this time was left, and needed none of it.
        assert!(between > STOP_WITHIN / 2, "{between:?}");
        rig.proxy.heal();
        becomes("it stands again", async || begun.get() == 2).await;
    };
    tokio::select! {
        led = leads => panic!("{led:?}"),
        () = follows => {}
    }
}

#[tokio::test]
async fn an_outage_ends_the_term_in_time_and_not_the_lead() {
    for survives in [true, false] {
        let rig = match survives {
            true => Rig::with(Options::default().survives_kills()),
            false => Rig::new(),
        };
        let clients = [(); 2].map(|()| {
            let config = config(&rig.redis.url()).lease(LEASE).longest_lease(LEASE);
            // Each attempt to stand fails soon.
            Client::connect(config.store_timeout("200ms")).unwrap()
        });
        // When each body began, and when it ended.
        let (begun, ended) = (Cell::new(0), Cell::new(None));
        let stands = async |client: &Client| {
            let body = async |_: &Term| {
                begun.set(begun.get() + 1);
                let _ends = Ends(&ended);
                match begun.get() {
                    1 => pending().await,
                    _ => Ok::<(), LockError>(()),
                }
            };
            soon("the lead ends", client.leader("s").lead(body))
                .await
                .unwrap();
        };
        let outage = async {
            becomes("a body runs", async || begun.get() == 1).await;
            waiters(&rig.client().mutex("s"), 1).await;
            let since = Instant::now();
            rig.redis.kill9();
            becomes("the body has ended", async || ended.get().is_some()).await;
            let took = ended.get().expect("ended").duration_since(since);
            assert!(took < LEASE, "{took:?}");
            // Longer than the store timeout.
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(begun.get(), 1);
            rig.redis.start_again();
        };
        tokio::join!(stands(&clients[0]), stands(&clients[1]), outage);
        assert_eq!(begun.get(), 3);
    }
}

/// Is set when the body ends.
struct Ends<'a>(&'a Cell<Option<Instant>>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set(Some(Instant::now()));
    }
}
