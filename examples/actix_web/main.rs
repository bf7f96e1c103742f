//! actix-web: a handler with a lock, a client of its own instead of a global one, and a clean stop.
//!
//! `AUTO_MUTEX_URL=redis://127.0.0.1:6379 cargo run -p auto-mutex-example-actix --example actix_handler`

use std::error::Error;
use std::fmt;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, HttpServer, ResponseError, post, web};
use auto_mutex::{Client, Config, LockError, auto_mutex};

/// The response of a handler that cannot get its lock.
#[derive(Debug)]
struct Refusal(LockError);

impl From<LockError> for Refusal {
    fn from(error: LockError) -> Self {
        // The error names hosts, addresses and files: they are for the log, not for clients.
        eprintln!("refused: {error}");
        Self(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.public_message())
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        if self.0.is_timeout() {
            StatusCode::CONFLICT
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// One call at a time for each month, on all machines.
#[post("/close/{month}")]
#[auto_mutex(name = "close", key = "{month}", block = 0)]
async fn close(month: web::Path<u32>) -> Result<String, Refusal> {
    // the work
    Ok(format!("month {month} is closed"))
}

/// Runs each request in the scope of the client.
async fn scoped(
    client: web::Data<Client>,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    client.scope(next.call(request)).await
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::connect_async(Config::from_env()?).await?;
    let data = web::Data::new(client.clone());
    let app = move || {
        App::new()
            .service(close)
            .wrap(from_fn(scoped))
            .app_data(data.clone())
    };
    let address = std::env::var("LISTEN").unwrap_or("0.0.0.0:8080".to_owned());
    let server = HttpServer::new(app).shutdown_timeout(20).bind(address)?;
    println!("listening on http://{}", server.addrs()[0]);
    // Returns after SIGTERM or SIGINT, when the last request is answered or 20 s are over.
    server.run().await?;
    println!("{}", client.drain("1s").await?);
    Ok(())
}
