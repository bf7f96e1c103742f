//! What the service does when a lock is lost, late or gone. Minutes pass here, in milliseconds.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex::test::{Register, Running, World, sleep};
use auto_mutex::{Client, Drained, LockError, LossCause, assert_held};
use auto_mutex_example_tested_service::{Billing, Books, Error, Refused, Sent};

const MONTH: u32 = 5;
const INVOICES: u32 = 10;
const CLOSE: &str = "auto-mutex-example-tested-service:Billing:close:5";
const SEND: &str = "auto-mutex-example-tested-service:Billing:send:5";
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// The books of one month, shared by all nodes of a test.
#[derive(Default)]
struct TestBooks {
    invoices: Register<u32>,
    archived: Register<()>,
    reminded: Register<()>,
}

impl Books for TestBooks {
    fn booked(&self, _: u32) -> u32 {
        self.invoices.read().map_or(0, |last| last + 1)
    }

    fn book(&self, token: u64, month: u32, invoice: u32) -> Result<(), Refused> {
        assert_held!("close:{month}");
        self.invoices.write(token, invoice).map_err(|_| Refused)
    }

    fn archive(&self, token: u64, _: u32) -> Result<(), Refused> {
        sleep(10 * SECOND);
        self.archived.write(token, ()).map_err(|_| Refused)
    }

    fn remind(&self, token: u64) -> Result<(), Refused> {
        self.reminded.write(token, ()).map_err(|_| Refused)
    }
}

impl TestBooks {
    /// A node with these books.
    fn node(self: &Arc<Self>) -> Billing {
        Billing::new(self.clone(), INVOICES)
    }

    fn assert_each_invoice_is_booked_once(&self) {
        let booked = self
            .invoices
            .writes()
            .into_iter()
            .map(|(_, invoice)| invoice);
        assert!(booked.eq(0..INVOICES), "{:?}", self.invoices.writes());
    }
}

/// Starts to close the month on the host of `client`.
fn close(world: &World, client: &Client, books: &Arc<TestBooks>) -> Running<Result<(), Error>> {
    let node = books.node();
    world.on(client, async move { node.close(MONTH).await })
}

/// Starts a node that stops after `time`.
fn run(world: &World, client: &Client, books: &Arc<TestBooks>, time: Duration) -> Running<Drained> {
    let node = books.node();
    world.on(client, async move {
        node.run(MONTH, tokio::time::sleep(time)).await.unwrap()
    })
}

#[auto_mutex::test(seeds = 10)]
async fn one_of_three_nodes_closes_the_month(world: World) {
    let books = Arc::new(TestBooks::default());
    let nodes = ["a", "b", "c"].map(|host| close(&world, &world.client(host), &books));
    for node in nodes {
        node.await.unwrap();
    }
    books.assert_each_invoice_is_booked_once();
    world.assert_no_overlap();
    world.assert_all_released();
}

#[auto_mutex::test]
async fn a_request_that_waits_for_five_seconds_is_for_later(world: World) {
    let (a, node) = (world.client("a"), Arc::new(TestBooks::default()).node());
    let send = |node: &Billing| {
        let node = node.clone();
        world.on(&a, async move { node.send(MONTH).await.unwrap() })
    };
    let other = world.hold_elsewhere(SEND).await;
    let request = send(&node);
    world.advance(4 * SECOND).await;
    assert!(!request.is_finished());
    world.advance(SECOND).await;
    assert_eq!(request.await, Sent::Later);

    other.release().await;
    assert_eq!(send(&node).await, Sent::Now);
}

#[auto_mutex::test(seeds = 10)]
async fn after_a_loss_another_node_goes_on_with_the_close(world: World) {
    let (a, b) = (world.client("a"), world.client("b"));
    let books = Arc::new(TestBooks::default());
    let first = close(&world, &a, &books);
    world.advance(SECOND * 7 / 2).await;
    world.force_unlock(&a).await;
    let lost = first.await.unwrap_err();
    assert!(matches!(
        lost,
        Error::Lock(LockError::Lost {
            cause: LossCause::Forced,
            ..
        })
    ));

    close(&world, &b, &books).await.unwrap();
    books.assert_each_invoice_is_booked_once();
    world.assert_order([
        format!("a granted {CLOSE}"),
        format!("a lost {CLOSE}"),
        format!("b granted {CLOSE}"),
    ]);
}

#[auto_mutex::test(seeds = 10)]
async fn a_node_that_stood_still_writes_nothing_when_it_wakes_up(world: World) {
    let (a, b) = (world.client("a"), world.client("b"));
    let books = Arc::new(TestBooks::default());
    let archive = |client| {
        let node = books.node();
        world.thread(client, move || node.archive(MONTH))
    };
    let slow = archive(&a);
    world.advance(5 * SECOND).await;
    world.suspend(&a);
    archive(&b).await.unwrap();
    world.resume(&a);
    assert!(matches!(slow.await, Err(Error::Refused)));
    assert_eq!(books.archived.writes().len(), 1);
}

#[auto_mutex::test(seeds = 5)]
async fn the_close_survives_a_failover(world: World) {
    let (a, b) = (world.client("a"), world.client("b"));
    let books = Arc::new(TestBooks::default());
    let nodes = [&a, &b].map(|client| run(&world, client, &books, 2 * MINUTE));
    world.advance(SECOND * 7 / 2).await;
    world.failover();
    for node in nodes {
        assert!(node.await.is_complete());
    }
    books.assert_each_invoice_is_booked_once();
    world.assert_no_overlap();
    world.assert_all_released();
}

#[auto_mutex::test(seeds = 5)]
async fn another_node_reminds_after_the_leader_was_killed(world: World) {
    let (a, b) = (world.client("a"), world.client("b"));
    let books = Arc::new(TestBooks::default());
    let remind = |client| {
        let node = books.node();
        world.on(client, async move { node.remind().await })
    };
    let first = remind(&a);
    world.advance(SECOND).await;
    let second = remind(&b);
    world.advance(MINUTE).await;
    assert_eq!(books.reminded.writes().len(), 1);

    world.kill(&a);
    assert!(first.outcome().await.is_none());
    world.advance(MINUTE).await;
    assert_eq!(books.reminded.writes().len(), 2);
    assert!(!second.is_finished());
}

#[auto_mutex::test]
async fn a_node_that_stops_closes_the_month_first(world: World) {
    let a = world.client("a");
    let books = Arc::new(TestBooks::default());
    let drained = run(&world, &a, &books, 3 * SECOND).await;
    assert!(drained.is_complete(), "{drained}");
    assert!(world.now() < 11 * SECOND);
    books.assert_each_invoice_is_booked_once();
    world.assert_all_released();
}

#[auto_mutex::test(seeds = 5, shrink)]
async fn whatever_goes_wrong_each_invoice_is_booked_once(world: World) {
    let clients = ["a", "b", "c"].map(|host| world.client(host));
    let books = Arc::new(TestBooks::default());
    let nodes = clients
        .each_ref()
        .map(|client| run(&world, client, &books, 3 * MINUTE));
    for client in &clients[..2] {
        world.advance(2 * SECOND).await;
        world.random_fault(client);
    }
    for node in nodes {
        node.outcome().await;
    }
    books.assert_each_invoice_is_booked_once();
    world.assert_no_overlap();
    world.assert_all_released();
}
