//! redis-em-mutex, point by point.

mod channel;
mod keys;
mod owning;
mod waking;
