//! A test for each bug of the systems that our users come from, named after the bug; and the bad servers, links and
//! values that a program meets at run time. All tests run on Redis, but those of `postgres`.
//!
//! In tests whose lease is [`LONG`](auto_mutex_tests::events::LONG), nothing may wait for the end of the lease.

mod acl;
mod bad_values;
mod em_mutex;
mod exp_lock;
mod foreign;
mod guarantees;
mod health;
mod kinds;
mod lazily;
mod leaders;
mod link;
mod managed;
mod others;
mod postgres;
mod processes;
mod refusals;
mod replicas;
mod restarts;
mod retain;
mod rig;
mod rw_lock;
mod semaphore;
mod setup;
mod tls;
