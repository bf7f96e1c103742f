//! Redis Cluster: set-up, slots that move, nodes that go. What every store owes its users is in `conformance`.

mod dialer;
mod failover;
mod guard;
mod migration;
mod multi;
mod outage;
mod rig;
mod setup;
mod slots;
mod wake_ups;
