//! Condition variables: an acknowledged notification wakes a waiter in a living process.

mod belt;
mod rounds;
