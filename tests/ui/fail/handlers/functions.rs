//! Functions that answer: what they take and what they return.
use auto_mutex::{LockError, auto_mutex};

type Out<T = u32> = Result<T, LockError>;

struct Ledger;

/// `on_timeout` gets the function's own arguments.
impl Ledger {
    #[auto_mutex(on_timeout = Self::busy)] fn close(&self, month: u32) -> Out { Ok(1) }
    #[auto_mutex(on_timeout = Self::late)] async fn open(&self, month: u32) -> Out { Ok(1) }
    #[auto_mutex(on_timeout = Self::bussy)] fn missing(&self) -> Out { Ok(1) }
    fn busy(&self) -> Out { Ok(0) }
    async fn late(&self, month: &str) -> Out { Ok(0) }
}

/// `on_error` gives the error.
#[auto_mutex(on_error = nothing)] fn sync() -> Out { Ok(1) }
#[auto_mutex(on_error = number)] async fn future() -> Out { Ok(1) }
#[auto_mutex(on_error = with_the_arguments)] fn month(month: u32) -> Out { Ok(month) }
#[auto_mutex(on_error = |error: &str| Ok(error.len() as u32))] fn closure() -> Out { Ok(1) }
#[auto_mutex(on_error = other_answer)] fn answer() -> Out { Ok(1) }
#[auto_mutex(on_error = nothin)] fn not_there() -> Out { Ok(1) }

fn nothing() -> Out { Ok(0) }
fn number(number: u32) -> Out { Ok(number) }
fn with_the_arguments(_: LockError, month: u32) -> Out { Ok(month) }
fn other_answer(_: LockError) -> u32 { 0 }

/// A handler returns what the function returns.
#[auto_mutex(on_timeout = zero)] fn returns() -> Out { Ok(1) }
#[auto_mutex(on_timeout = zero)] async fn returns_async() -> Out { Ok(1) }
#[auto_mutex(on_timeout = || 0)] fn closure_returns() -> Out { Ok(1) }
#[auto_mutex(on_timeout = async || 0)] async fn closure_returns_async() -> Out { Ok(1) }
#[auto_mutex(on_timeout = later)] fn awaits() -> Out { Ok(1) }

fn zero() -> u32 { 0 }
async fn later() -> Out { Ok(0) }

struct Report;

#[auto_mutex(on_timeout = skip)] fn no_default() -> Out<Report> { Ok(Report) }
#[auto_mutex(on_timeout = skip, on_error = panic)] async fn no_default_alone() -> Report { Report }
