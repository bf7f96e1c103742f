//! Words that are no option, that come too often, or without what belongs to them. All mistakes are shown at once.
use auto_mutex::{LockError, auto_mutex, auto_semaphore};

type Out<T = ()> = Result<T, LockError>;

#[auto_mutex(exprie = 100, bloc = 10, on_timout = skip, colour = "red", expire = 5)] fn unknown() -> Out { Ok(()) }
#[auto_mutex(permits = 5)] fn permits() -> Out { Ok(()) }

/// Words of other libraries.
#[auto_mutex(
    timeout = 10, wait_time = 10, lease_time = 30, ttl = 100, lock_at_most_for = 100, lockAtLeastFor = 10,
    retry = 3, retryCount = 3, retry_delay = 1, resource = 5, prefix = "eu"
)]
fn elsewhere() -> Out { Ok(()) }
#[auto_mutex(lease = 30, auto_renew = true, reentrant = true, fair, permit = 5)] fn others() -> Out { Ok(()) }
#[auto_mutex(keep = 1, stop = 5)] fn verbs() -> Out { Ok(()) }
#[auto_semaphore(permits = 5, retain = 1)] fn kept() -> Out { Ok(()) }
#[auto_semaphore(permit = 5)] fn tidy() -> Out { Ok(()) }

/// Values without a word, and the other way round.
#[auto_mutex("cleanup")] fn cleanup() -> Out { Ok(()) }
#[auto_mutex(100)] fn number() -> Out { Ok(()) }
#[auto_mutex(expire)] fn no_value() -> Out { Ok(()) }
#[auto_mutex(expire = )] fn half_written() -> Out { Ok(()) }
#[auto_mutex(expire(100))] fn parentheses() -> Out { Ok(()) }
#[auto_mutex(expire = 100 block = 10)] fn no_comma() -> Out { Ok(()) }
#[auto_mutex("close", expire = "2 weeks")] fn no_option() -> Out { Ok(()) }
#[auto_mutex(explicit)] fn for_blocks() -> Out { Ok(()) }

#[auto_mutex(expire = 100, block = 1, expire = 200)] fn twice() -> Out { Ok(()) }
#[auto_mutex(retries = 3, block = 10)] fn polls_and_queues() -> Out { Ok(()) }
#[auto_mutex(interval = 0.1)] fn interval_of_nothing() -> Out { Ok(()) }
#[auto_mutex(on_lost = cancel)] fn sync_cancel() -> Out { Ok(()) }
#[auto_mutex(on_lost = ignore)] async fn unknown_word() -> Out { Ok(()) }

#[auto_mutex(expire = 0, blok = 1, key = "{idd}", on_timeout = |a, b| Ok(a), on_error = || Ok(1), on_lost = cancel)]
const fn all_at_once(id: u32) -> Out<u32> { Ok(id) }
