//! redis-em-mutex, point by point.

mod attribute;
mod channel;
mod keys;
mod owning;
mod waking;
