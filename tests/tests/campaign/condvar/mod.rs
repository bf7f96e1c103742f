//! Condition variables: a notification that was answered wakes a waiter in a living process.

mod belt;
mod rounds;
