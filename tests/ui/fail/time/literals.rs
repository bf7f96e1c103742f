//! Lengths of time that cannot be meant.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(expire = 0)]
fn zero() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = 0.0)]
fn zero_float() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = "0s")]
fn zero_text() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = -5, block = -1)]
fn negative() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = "-5s")]
fn negative_text() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = 99999999999999999999)]
fn overflow() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = "40000d")]
fn overflow_text() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = 0.009, block = 0.0001, at_least = "0.5ms")]
fn too_short() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = "5 weeks")]
fn bad_unit() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = "100")]
fn no_unit() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = "soon")]
fn no_number() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = "")]
fn empty() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = 100u64)]
fn suffix() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = 10s)]
fn unit_without_quotes() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(block = 5000)]
fn perhaps_milliseconds() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(expire = true, block = 'c')]
fn wrong_literal() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(retries = -1)]
fn negative_count() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(retries = 5000000000)]
fn large_count() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(retries = 1.5)]
fn broken_count() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(retries = 3, interval = 0)]
fn no_pause() -> Result<(), LockError> { Ok(()) }

#[auto_mutex(at_least = 0)]
fn at_least_nothing() -> Result<(), LockError> { Ok(()) }

fn main() {}
