//! Contests for one mutex.

mod calm;
mod chaos;
