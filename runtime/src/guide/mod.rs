//! The guide: each module is a chapter. The guide is only text: rustdoc compiles it, and normal builds leave it out.

#![doc = include_str!("README.md")]

// The chapters link to items of the crate by name, so rustdoc needs these names here.
#[allow(unused_imports)]
use crate::*;

macro_rules! chapters {
    ($($chapter:ident: $file:literal $(shows $reference:literal)? $(with $picture:literal)*,)*) => {$(
        // The picture that a page shows as `![…][fenced]`. Rustdoc uses the first definition of a reference; the page
        // itself has another one, for readers of the repository.
        $(#[doc = include_str!($reference)])?
        #[doc = include_str!($file)]
        $(#[doc = concat!("\n<div>\n", include_str!($picture), "</div>\n")])*
        pub mod $chapter {}
    )*};
}

chapters! {
    options: "options.md",
    handles: "handles.md",
    testing: "testing.md",
    cron: "cron.md",
    axum: "axum.md",
    leader_election: "leader_election.md" shows "leader.ref",
    lock_order: "lock_order.md",
    deadlocks: "deadlocks.md",
    fencing: "fencing.md" shows "fenced.ref",
    managed_redis: "managed_redis.md" shows "failover.ref",
    managed_services: "managed_services.md",
    postgres: "postgres.md",
    kubernetes: "kubernetes.md",
    production: "production.md",
    observe: "observe.md",
    moving: "moving.md",
    operator: "operator.md" with "top.svg" with "top-80.svg",
    troubleshooting: "troubleshooting.md",
    comparison: "comparison.md",
}
