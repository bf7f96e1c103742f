//! A quorum of independent servers, while servers and processes are killed, suspended, slow or cut off.
//!
//! `AUTO_MUTEX_SEED` repeats a run.

mod ground;
mod limits;
mod majority;
mod minority;
mod releases;
mod restarts;
