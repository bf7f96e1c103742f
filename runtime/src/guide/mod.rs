//! The guide, a chapter per module. It is text only: compiled by rustdoc, and by no build.

#![doc = include_str!("README.md")]

// The links of the chapters are resolved here.
#[allow(unused_imports)]
use crate::*;

macro_rules! chapters {
    ($($chapter:ident: $file:literal $(with $picture:literal)?,)*) => {$(
        #[doc = include_str!($file)]
        $(#[doc = concat!("\n<div>\n", include_str!($picture), "</div>\n")])?
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
    leader_election: "leader_election.md",
    fencing: "fencing.md",
    testing: "testing.md",
    observe: "observe.md",
    deadlocks: "deadlocks.md",
    moving: "moving.md",
    production: "production.md",
    operator: "operator.md" with "top.svg",
    troubleshooting: "troubleshooting.md",
    comparison: "comparison.md",
}
