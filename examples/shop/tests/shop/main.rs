//! Three instances of the shop on a real PostgreSQL: one is stopped in the middle of a payment, and one is killed.

mod world;

use auto_mutex::Client;
use auto_mutex_examples::run::{Running, command, eventually, try_ask};
use auto_mutex_tests::databases::{self, IN_A_HURRY};
use auto_mutex_tests::events::becomes;
use auto_mutex_tests::process::{cont, kill9, stop_child};
use auto_mutex_tests::real_time::real_time;
use sqlx::{PgPool, Postgres, Transaction};
use tokio::task::JoinSet;

const SHOP: &str = env!("CARGO_BIN_EXE_shop");
const ORDERS: i64 = 41;
/// Lets each shipment fail, and counts them: a sequence keeps what a transaction that fails has counted.
const FAIL: &str = "CREATE SEQUENCE failures; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS \
    $$ BEGIN RAISE 'failure %', nextval('failures'); END $$; \
    CREATE TRIGGER fail BEFORE INSERT ON shipments EXECUTE FUNCTION fail()";

/// The status of the answer; `None` if the instance was killed.
fn post(address: &str, order: i64) -> Option<u16> {
    Some(try_ask(address, "POST", &format!("/orders/{order}"))?.0)
}

/// Posts an order until it is paid.
fn post_until_paid(address: &str, order: i64) {
    eventually("the order is paid", || post(address, order) == Some(200));
}

async fn number(pool: &PgPool, sql: &str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(pool).await.unwrap()
}

/// Keeps all instances from inserting payments.
async fn hold_payments(pool: &PgPool) -> Transaction<'static, Postgres> {
    let mut tx = pool.begin().await.unwrap();
    let lock = sqlx::query("LOCK TABLE payments IN SHARE MODE");
    lock.execute(&mut *tx).await.unwrap();
    tx
}

/// Waits until so many sessions wait for a transaction whose last statement begins like this.
async fn until_they_wait(pool: &PgPool, sessions: i64, statement: &str) {
    let waits = format!(
        "SELECT count(*) FROM pg_stat_activity AS waits JOIN pg_stat_activity AS holds \
         ON holds.pid = ANY(pg_blocking_pids(waits.pid)) WHERE starts_with(holds.query, '{statement}')"
    );
    becomes(statement, async || number(pool, &waits).await == sessions).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_instances_pay_each_order_once() {
    let _watch = real_time();
    let server = databases::postgres(&IN_A_HURRY).expect("PostgreSQL");
    let url = server.url("postgres");
    let mut shops = [(); 3].map(|()| {
        let mut shop = Running::start(command(SHOP, &url).env("DATABASE_URL", &url));
        (shop.address(), shop)
    });
    for (address, _) in &shops {
        let ready = Some((200, "ready".to_owned()));
        eventually("it is ready", || {
            try_ask(address, "GET", "/readyz") == ready
        });
    }
    let pool = PgPool::connect(&url).await.unwrap();
    let client = Client::connect_async(&*url).await.unwrap();
    let mut leaders = client.leader("shipping").watch();
    let leader = loop {
        if let Some(leader) = leaders.changed().await.unwrap() {
            break leader;
        }
    };
    shops.sort_by_key(|(address, _)| *address != leader.value);
    let [(leading, leader), (second, killed), (third, _)] = &shops;
    let post_all = |requests: &mut JoinSet<_>, to: &String, orders: &[i64]| {
        for &order in orders {
            let to = to.clone();
            requests.spawn_blocking(move || post(&to, order));
        }
    };

    // Three orders are being paid, four wait, and the surplus is refused while they do. All that were accepted are
    // paid.
    let mut requests = JoinSet::new();
    let held = hold_payments(&pool).await;
    post_all(&mut requests, leading, &[1, 2, 3]);
    until_they_wait(&pool, 3, "LOCK TABLE").await;
    post_all(&mut requests, leading, &[4, 5, 6, 7, 8, 9, 10]);
    for _ in 0..3 {
        assert_eq!(requests.join_next().await.unwrap().unwrap(), Some(429));
    }
    held.rollback().await.unwrap();
    assert_eq!(requests.join_all().await, [Some(200); 7]);
    assert_eq!(number(&pool, "SELECT count(*) FROM payments").await, 7);

    // The leader is stopped in the transaction of order 11, and another instance is killed in that of order 12.
    let mut requests = JoinSet::new();
    let held = hold_payments(&pool).await;
    post_all(&mut requests, leading, &[11]);
    post_all(&mut requests, second, &[12]);
    until_they_wait(&pool, 2, "LOCK TABLE").await;
    stop_child(leader.id());
    kill9(killed.id());
    held.rollback().await.unwrap();

    // Four clients pay all other orders but the last at the third instance. It gets the lock of order 11 after a lease;
    // then its fence waits.
    for first in (0..ORDERS - 1).step_by(10) {
        let third = third.clone();
        requests.spawn_blocking(move || {
            let orders = (0..ORDERS - 1).map(|order| 1 + (first + order) % (ORDERS - 1));
            for order in orders.filter(|order| *order != 11) {
                post_until_paid(&third, order);
            }
            None
        });
    }
    let eleventh = third.clone();
    requests.spawn_blocking(move || {
        post_until_paid(&eleventh, 11);
        None
    });
    until_they_wait(&pool, 1, "INSERT INTO payments").await;
    cont(leader.id());
    requests.join_all().await;
    // The one that was stopped serves again.
    post_until_paid(leading, 11);

    // An error ends a term, not the service: the third one is of an instance that has stood again.
    sqlx::raw_sql(FAIL).execute(&pool).await.unwrap();
    becomes("three terms end", async || {
        number(&pool, "SELECT last_value FROM failures").await >= 3
    })
    .await;
    post_until_paid(leading, ORDERS);
    let mend = sqlx::query("DROP TRIGGER fail ON shipments");
    mend.execute(&pool).await.unwrap();
    let shipped = "SELECT count(DISTINCT order_id) FROM shipments";
    becomes("all is shipped", async || {
        number(&pool, shipped).await == ORDERS
    })
    .await;

    for alive in [0, 2] {
        let (_, shop) = &mut shops[alive];
        shop.terminate();
        let (status, said) = shop.end();
        assert!(
            status.success() && said.ends_with("every lock was released"),
            "{status}: {said}"
        );
    }
    // Each order is paid and shipped once, and no leader has written after the next one.
    for (what, is) in [
        ("SELECT count(*) FROM payments", ORDERS),
        ("SELECT count(DISTINCT order_id) FROM payments", ORDERS),
        ("SELECT count(*) FROM shipments", ORDERS),
        (
            "SELECT count(*) FROM shipments AS a JOIN shipments AS b ON a.id < b.id WHERE a.term > b.term",
            0,
        ),
    ] {
        assert_eq!(number(&pool, what).await, is, "{what}");
    }
}
