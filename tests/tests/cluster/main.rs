//! Redis Cluster: set-up, moving slots, failing nodes. The tests that every store must pass are in `conformance`.

mod failover;
mod guard;
mod migration;
mod outage;
mod rig;
mod setup;
mod slots;
mod wake_ups;
