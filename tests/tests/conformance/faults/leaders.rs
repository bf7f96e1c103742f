//! Leaders whose process, connection or store fails.

use std::cell::Cell;
use std::future::pending;

use auto_mutex::test::{Running, World};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{LEASE, member, members};
use crate::prelude::*;

type Led = Running<Result<(), LockError>>;

/// Leads on the client's host until its end. Returns the numbers of its terms.
fn leads(world: &World, client: &Client) -> (UnboundedReceiver<u64>, Led) {
    let (told, terms) = unbounded_channel();
    let seat = client.leader("s");
    let lead = world.on(client, async move {
        let body = async move |term: &Term| {
            told.send(term.number()).unwrap();
            pending().await
        };
        seat.lead(body).await
    });
    (terms, lead)
}

async fn next(terms: &mut UnboundedReceiver<u64>) -> u64 {
    soon("the next term", terms.recv()).await.unwrap()
}

async fn change(watch: &mut LeaderWatch) -> Option<LeaderInfo> {
    let change = soon("a change of the leader", watch.changed()).await;
    change.unwrap()
}

/// Waits for the next term, and until `watch` tells of it.
async fn follows(watch: &mut LeaderWatch, terms: &mut UnboundedReceiver<u64>) -> u64 {
    let number = next(terms).await;
    assert_eq!(change(watch).await.map(|info| info.term), Some(number));
    number
}

#[auto_mutex::test(seeds = 10)]
async fn a_killed_leader_is_missed_and_then_followed(world: World) {
    let [client, one, two, three] = members(&world);
    let mut watch = client.leader("s").watch();
    let (mut terms, _lead) = leads(&world, &one);
    let first = follows(&mut watch, &mut terms).await;
    world.kill(&one);
    assert_eq!(change(&mut watch).await, None);
    // The same with a standby.
    let (mut terms, _lead) = leads(&world, &two);
    let second = follows(&mut watch, &mut terms).await;
    let (mut terms, _standby) = leads(&world, &three);
    waiters(&client.mutex("s"), 1).await;
    world.kill(&two);
    let third = follows(&mut watch, &mut terms).await;
    assert!(first < second && second < third);
}

#[auto_mutex::test(seeds = 10)]
async fn a_leader_that_was_suspended_stands_again(world: World) {
    let [leader, client] = members(&world);
    let (mut terms, _lead) = leads(&world, &leader);
    let first = next(&mut terms).await;
    world.suspend(&leader);
    let second = Cell::new(0);
    let body = async |term: &Term| {
        second.set(term.number());
        world.resume(&leader);
        waiters(&client.mutex("s"), 1).await;
        Ok::<_, LockError>(())
    };
    soon("its term", client.leader("s").lead(body))
        .await
        .unwrap();
    let third = next(&mut terms).await;
    assert!(first < second.get() && second.get() < third);
}

/// Is set when the body ends.
struct Ends<'a>(&'a World, &'a Cell<Option<Duration>>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.1.set(Some(self.0.now()));
    }
}

#[auto_mutex::test(seeds = 10)]
async fn a_leader_that_is_cut_off_ends_in_time_for_the_next_one(world: World) {
    const STOP_WITHIN: Duration = Duration::from_secs(1);
    let [leader, standby] = members(&world);
    let (begun, ended) = (Cell::new(0), Cell::new(None));
    let seat = leader.leader("s").stop_within(STOP_WITHIN);
    let leads = seat.lead(async |_: &Term| {
        begun.set(begun.get() + 1);
        let _ends = Ends(&world, &ended);
        pending::<Result<(), LockError>>().await
    });
    let follows = async {
        becomes!("a body runs", begun.get() == 1);
        world.disconnect(&leader);
        let body = async |_: &Term| Ok::<_, LockError>(world.now());
        let next = soon("the next term", standby.leader("s").lead(body)).await;
        // It was told when this time was left, and needed none of it.
        let between = next.unwrap() - ended.get().expect("ended");
        assert!(between >= STOP_WITHIN, "{between:?}");
        world.reconnect(&leader);
        becomes!("it stands again", begun.get() == 2);
    };
    tokio::select! {
        biased;
        led = leads => panic!("{led:?}"),
        () = follows => {}
    }
}

#[auto_mutex::test(seeds = 5)]
async fn an_outage_ends_the_term_in_time_and_not_the_lead(world: World) {
    for survives in [true, false] {
        let clients = ["a", "b"].map(|host| {
            let config = world.config(host).lease(LEASE).longest_lease(LEASE);
            // Each attempt to stand fails soon.
            Client::connect(config.store_timeout("200ms")).unwrap()
        });
        let observer = member(&world, "observer");
        // When each body began, and when it ended.
        let (begun, ended) = (Cell::new(0), Cell::new(None));
        let stands = async |client: &Client| {
            let body = async |_: &Term| {
                begun.set(begun.get() + 1);
                let _ends = Ends(&world, &ended);
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
            becomes!("a body runs", begun.get() == 1);
            waiters(&observer.mutex("s"), 1).await;
            let since = world.now();
            world.oom_crash();
            becomes!("the body has ended", ended.get().is_some());
            let took = ended.get().expect("ended") - since;
            assert!(took < LEASE, "{took:?}");
            // Longer than the store timeout.
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(begun.get(), 1);
            match survives {
                true => world.failover_losing(Duration::ZERO),
                false => world.restart_empty(),
            };
        };
        tokio::join!(stands(&clients[0]), stands(&clients[1]), outage);
        assert_eq!(begun.get(), 3);
    }
}
