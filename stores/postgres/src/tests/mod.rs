//! Tests with a real server.

mod difference;
mod forms;
mod loss;
mod peer;
mod readers;
mod rights;
mod server;
mod setup;
mod upkeep;
mod urls;
