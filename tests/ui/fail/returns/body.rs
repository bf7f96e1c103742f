//! Mistakes in the body are shown in the body.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex] fn sync() -> Result<u32, LockError> { Ok("one") }
#[auto_mutex] async fn future() -> Result<u32, LockError> { Ok("one") }
#[auto_mutex] fn no_value() -> Result<u32, LockError> { let _ = 1; }
#[auto_mutex] async fn no_value_either() -> Result<u32, LockError> { let _ = 1; }
#[auto_mutex] fn unknown() -> Result<u32, LockError> { __request }
