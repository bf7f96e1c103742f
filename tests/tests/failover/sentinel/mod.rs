//! Servers behind sentinels.

mod failovers;
mod finding;
mod refused;
mod secure;
