//! Lengths of time that cannot be meant.
use auto_mutex::{LockError, auto_mutex};

type Out = Result<(), LockError>;

#[auto_mutex(expire = 0)] fn zero() -> Out { Ok(()) }
#[auto_mutex(expire = 0.0)] fn zero_float() -> Out { Ok(()) }
#[auto_mutex(expire = "0s")] fn zero_text() -> Out { Ok(()) }
#[auto_mutex(expire = -5, block = -1)] fn negative() -> Out { Ok(()) }
#[auto_mutex(expire = "-5s")] fn negative_text() -> Out { Ok(()) }
#[auto_mutex(expire = 99999999999999999999)] fn overflow() -> Out { Ok(()) }
#[auto_mutex(expire = "40000d")] fn overflow_text() -> Out { Ok(()) }
#[auto_mutex(expire = 0.009, block = 0.0001, at_least = "0.5ms")] fn too_short() -> Out { Ok(()) }
#[auto_mutex(expire = "5 weeks")] fn bad_unit() -> Out { Ok(()) }
#[auto_mutex(expire = "100")] fn no_unit() -> Out { Ok(()) }
#[auto_mutex(expire = "soon")] fn no_number() -> Out { Ok(()) }
#[auto_mutex(expire = "")] fn empty() -> Out { Ok(()) }
#[auto_mutex(expire = 100u64)] fn suffix() -> Out { Ok(()) }
#[auto_mutex(expire = 10s)] fn unit_without_quotes() -> Out { Ok(()) }
#[auto_mutex(block = 5000)] fn perhaps_milliseconds() -> Out { Ok(()) }
#[auto_mutex(expire = true, block = 'c')] fn wrong_literal() -> Out { Ok(()) }
#[auto_mutex(retries = -1)] fn negative_count() -> Out { Ok(()) }
#[auto_mutex(retries = 5000000000)] fn large_count() -> Out { Ok(()) }
#[auto_mutex(retries = 1.5)] fn broken_count() -> Out { Ok(()) }
#[auto_mutex(retries = 3, interval = 0)] fn no_pause() -> Out { Ok(()) }
#[auto_mutex(at_least = 0)] fn at_least_nothing() -> Out { Ok(()) }
#[auto_mutex(retain = -1)] fn negative_retain() -> Out { Ok(()) }
