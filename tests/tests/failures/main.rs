//! Every fault of `failures` that was seen in the systems our users come from, one test each, named after it;
//! and the bad servers, links and values that a program meets at run time. All on Redis.
//!
//! Where a lease is [`LONG`](auto_mutex_tests::events::LONG), nothing may wait for its end.

mod acl;
mod bad_values;
mod deadlocks;
mod dialer;
mod em_mutex;
mod exp_lock;
mod foreign;
mod guarantees;
mod health;
mod kinds;
mod lazily;
mod link;
mod managed;
mod others;
mod processes;
mod refusals;
mod replicas;
mod restarts;
mod rig;
mod rw_lock;
mod semaphore;
mod setup;
mod tls;
