//! What the shop does under locks: [`pay`] takes the money for an order, [`order`] is the request for it, and [`lead`]
//! ships what is paid, on one instance at a time.

#![forbid(unsafe_code)]

use std::error::Error;
use std::time::Duration;

use auto_mutex::{LockError, Term, auto_mutex, auto_semaphore};
use auto_mutex_fence::Fence as _;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sqlx::PgPool;
use tokio::time::sleep;

/// Why an order isn't paid. The client may post it again.
#[derive(Debug)]
pub struct Refusal(pub Box<dyn Error + Send + Sync>);

impl<E: Error + Send + Sync + 'static> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // The error names hosts and tables: that is for the log.
        tracing::warn!(error = &*self.0 as &dyn Error, "a request was refused");
        let text = match self.0.downcast_ref() {
            Some(error) => LockError::public_message(error),
            None => "the order may not be paid; try again",
        };
        (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
    }
}

/// `POST /orders/{order}`. The payment company allows three requests at a time. If four more wait in the whole cluster,
/// a further one is refused at once.
#[auto_semaphore(permits = 3, max_waiters = 4, block = 15, on_timeout = || Ok(busy()))]
pub async fn order(
    State(pool): State<PgPool>,
    Path(order): Path<i64>,
) -> Result<(StatusCode, &'static str), Refusal> {
    let text = match pay(&pool, order).await? {
        true => "paid",
        false => "paid already",
    };
    Ok((StatusCode::OK, text))
}

fn busy() -> (StatusCode, &'static str) {
    (
        StatusCode::TOO_MANY_REQUESTS,
        "too many orders; try again later",
    )
}

/// Takes the money for an order, unless that has been done; returns whether this call did it.
#[auto_mutex(key = order, block = 15)]
pub async fn pay(pool: &PgPool, order: i64) -> Result<bool, Refusal> {
    charge(order).await;
    let mut tx = pool.begin().await?;
    // From here to the commit, no other instance is in this transaction for this order.
    auto_mutex::current()?.fence(&mut tx).await?;
    let paid = sqlx::query_scalar("SELECT EXISTS (SELECT FROM payments WHERE order_id = $1)");
    if paid.bind(order).fetch_one(&mut *tx).await? {
        return Ok(false);
    }
    let insert = sqlx::query("INSERT INTO payments (order_id) VALUES ($1)");
    insert.bind(order).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// The request to the payment company, whose servers no fence can reach. Its idempotency key is the order: sent twice,
/// it charges once.
async fn charge(order: i64) {
    tracing::debug!("charge, with the idempotency key order-{order}");
    sleep(Duration::from_millis(20)).await;
}

/// Ships what is paid, on one instance at a time, until the program drains.
///
/// # Errors
///
/// Those of the locks: `LockError::ShutDown`, when the program drains.
pub async fn lead(pool: PgPool, address: String) -> Result<(), Refusal> {
    let seat = auto_mutex::client()?.leader("shipping").value(address);
    let body = async move |term: &Term| {
        let shipped = ship(&pool, term).await;
        shipped.inspect_err(|error| tracing::error!(error = &*error.0 as &dyn Error, "shipping"))
    };
    seat.again_on_error().lead(body).await
}

async fn ship(pool: &PgPool, term: &Term) -> Result<(), Refusal> {
    loop {
        let mut tx = pool.begin().await?;
        term.fence(&mut tx).await?;
        let ship = "INSERT INTO shipments (order_id, term) SELECT order_id, $1 FROM payments \
                    WHERE order_id NOT IN (SELECT order_id FROM shipments)";
        let ship = sqlx::query(ship).bind(i64::try_from(term.number())?);
        ship.execute(&mut *tx).await?;
        tx.commit().await?;
        sleep(Duration::from_millis(50)).await;
    }
}
