//! Condition variables: a notification that was answered wakes somebody that lives.

mod belt;
mod rounds;
