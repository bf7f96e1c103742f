//! Servers that are restarted or replaced by their replicas: nobody is granted what somebody else may still hold.

mod promotions;
mod restarts;
mod rig;
mod sentinel;
