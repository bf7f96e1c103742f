//! An expression must be a number, a text or a `Duration`.
use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};

type Out = Result<(), LockError>;

const SECONDS: u128 = 100;

#[auto_mutex(expire = SECONDS)] fn number() -> Out { Ok(()) }
#[auto_mutex(block = 60 > 5)] fn arithmetic() -> Out { Ok(()) }
#[auto_mutex(at_least = Some(Duration::from_secs(1)))] fn option() -> Out { Ok(()) }
#[auto_mutex(retries = "three".len())] fn count() -> Out { Ok(()) }
