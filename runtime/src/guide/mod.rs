//! The guide: each module is a chapter. The guide is only text: rustdoc compiles it, and normal builds leave it out.

#![doc = include_str!("README.md")]

// The chapters link to items of the crate by name, so rustdoc needs these names here.
#[allow(unused_imports)]
use crate::*;

macro_rules! chapters {
    ($($chapter:ident: $file:literal $(with $picture:literal)*,)*) => {$(
        #[doc = include_str!($file)]
        $(#[doc = concat!("\n<div>\n", include_str!($picture), "</div>\n")])*
        pub mod $chapter {}
    )*};
}

chapters! {
    options: "options.md",
    handles: "handles.md",
    cron: "cron.md",
    axum: "axum.md",
    kubernetes: "kubernetes.md",
    managed_redis: "managed_redis.md",
    managed_services: "managed_services.md",
    postgres: "postgres.md",
    leader_election: "leader_election.md",
    fencing: "fencing.md",
    lock_order: "lock_order.md",
    testing: "testing.md",
    observe: "observe.md",
    deadlocks: "deadlocks.md",
    moving: "moving.md",
    production: "production.md",
    operator: "operator.md" with "top.svg" with "top-80.svg",
    troubleshooting: "troubleshooting.md",
    comparison: "comparison.md",
}
