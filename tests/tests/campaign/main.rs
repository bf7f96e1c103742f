//! Long contests between many processes, judged by an independent witness.
//!
//! `AUTO_MUTEX_CAMPAIGN_SECONDS` sets how long each lasts; `AUTO_MUTEX_SEED` replays the choices of one
//! (printed at its start). One after the other: they would starve each other of processors.

mod arena;
mod calm;
mod chaos;
