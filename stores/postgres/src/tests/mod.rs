//! Tests with a real server.

mod credentials;
mod forms;
mod loss;
mod peer;
mod readers;
mod rights;
mod server;
mod setup;
#[cfg(feature = "tls")]
mod tls;
mod urls;
