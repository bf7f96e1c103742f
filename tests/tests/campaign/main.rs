//! Long contests between many processes, judged by an independent witness: every kind of lock, without faults and while
//! processes are killed and suspended. They run one after another, because in parallel they would take CPU time from
//! each other.
//!
//! | variable | sets |
//! |---|---|
//! | `AUTO_MUTEX_CAMPAIGN_SECONDS` | how long each contest lasts |
//! | `AUTO_MUTEX_CAMPAIGN_PAIRS` | how many pairs of locks are taken in `random_pairs_never_close_a_cycle` |
//! | `AUTO_MUTEX_FAILOVER_ROUNDS` | how often each fault of a failover happens |
//! | `AUTO_MUTEX_SEED` | the random choices of a contest, as printed at its start, to repeat it |

mod arena;
mod condvar;
mod failover;
mod judge;
mod multi;
mod mutex;
mod rolling;
mod rw_lock;
mod semaphore;
