//! redis-semaphore, point by point.

mod dying;
mod keys;
mod refusals;
mod signals;
mod stale;
