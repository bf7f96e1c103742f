//! The search beside all orders, and faults that it must see.

mod faults;
mod orders;
