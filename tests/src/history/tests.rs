//! The search must agree with an exhaustive search, and must find faults.

mod faults;
mod orders;
