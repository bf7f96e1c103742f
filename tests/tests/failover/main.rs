//! Servers that are restarted or replaced by their replicas: no lock is granted that a former holder may still hold.

mod promotions;
mod restarts;
mod rig;
mod sentinel;
