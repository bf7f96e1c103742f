//! Servers behind sentinels.

mod dialer;
mod failovers;
mod finding;
mod refused;
mod secure;
