//! Tests with a real server.

mod credentials;
mod difference;
mod forms;
mod half_open;
mod hostile;
mod loss;
mod peer;
mod races;
mod readers;
#[allow(dead_code, unreachable_pub)]
#[path = "../../../../tests/src/real_time.rs"]
mod real_time;
mod rights;
mod server;
mod setup;
#[cfg(feature = "tls")]
mod tls;
mod upkeep;
mod urls;
