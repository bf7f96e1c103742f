//! Long contests between many processes for a mutex, judged by an independent witness: without faults, while processes
//! are killed and suspended, and across failovers. `chaos` has every fault against every kind of lock.
//!
//! | variable | sets |
//! |---|---|
//! | `AUTO_MUTEX_CAMPAIGN_SECONDS` | how long each contest lasts |
//! | `AUTO_MUTEX_FAILOVER_ROUNDS` | how often each fault of a failover happens |
//! | `AUTO_MUTEX_SEED` | the random choices of a contest, as printed at its start, to repeat it |

mod arena;
mod calm;
mod failover;
mod faults;
mod judge;
mod rolling;
