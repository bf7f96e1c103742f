//! Pairs out of fifty names, in any order.

mod pairs;
mod processes;
