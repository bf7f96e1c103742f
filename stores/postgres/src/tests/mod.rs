//! Tests with a real server.

mod credentials;
mod difference;
mod forms;
mod loss;
mod peer;
mod races;
mod readers;
mod rights;
mod server;
mod setup;
#[cfg(feature = "tls")]
mod tls;
mod upkeep;
mod urls;
