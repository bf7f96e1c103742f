//! Contests for two out of fifty names at once, in any order.

mod pairs;
mod processes;
