//! redis-semaphore, point by point.

mod keys;
mod refusals;
mod signals;
