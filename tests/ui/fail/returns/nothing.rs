//! A function that cannot carry the error needs handlers: the body never runs unlocked.
use auto_mutex::auto_mutex;

#[auto_mutex] fn sync() {}
#[auto_mutex] async fn future() {}
#[auto_mutex(block = 10)] fn value() -> Option<u32> { Some(1) }

struct Ledger;

#[auto_mutex]
impl Ledger {
    fn close(&self) -> u32 { 1 }
}

/// One handler leaves the other case open.
#[auto_mutex(on_timeout = skip)] fn only_timeout() -> u32 { 1 }
#[auto_mutex(on_error = skip)] async fn only_error() -> u32 { 1 }

/// Nor can an opaque type carry it, nor `!`.
#[auto_mutex] fn opaque() -> impl Iterator<Item = u32> { 0..3 }
#[auto_mutex(on_timeout = skip, on_error = panic)] fn no_default() -> impl Iterator<Item = u32> { 0..3 }
#[auto_mutex] async fn never() -> ! { std::process::exit(0) }

struct MyError;

/// The error must be made from a `LockError`.
#[auto_mutex] fn error() -> Result<u32, MyError> { Ok(1) }
#[auto_mutex] async fn text() -> Result<u32, String> { Ok(1) }
#[auto_mutex] fn generic<E>() -> Result<u32, E> { Ok(1) }
#[auto_mutex(on_timeout = skip)] async fn half<E>() -> Result<u32, E> { Ok(1) }
#[auto_mutex] fn of_another_crate() -> std::io::Result<u32> { Ok(1) }

struct Shelf<E>(E);

impl<E> Shelf<E> {
    #[auto_mutex] fn of_type(&self) -> Result<u32, Vec<E>> { Ok(1) }
}
