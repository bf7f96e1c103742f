//! What a closure that answers gets, and where it runs.
use auto_mutex::{LockError, auto_mutex};

type Out<T = u32> = Result<T, LockError>;

/// A sync function cannot await its handler.
#[auto_mutex(on_timeout = async || Ok(0))] fn sync() -> Out { Ok(1) }
#[auto_mutex(on_error = |_| async { Ok(0) })] fn block() -> Out { Ok(1) }

struct Ledger;

/// It takes no arguments or all of them.
impl Ledger {
    #[auto_mutex(on_timeout = |month| Ok(month))] fn some(&self, year: u32, month: u32) -> Out { Ok(year) }
    #[auto_mutex(on_error = || Ok(0))] fn no_error(&self) -> Out { Ok(1) }
    #[auto_mutex(on_error = |error, month| Err(error))] fn error_and_some(&self, year: u32, month: u32) -> Out { Ok(year) }
}

/// In an async function `on_error` also answers a loss, after a part of the body has run: what the body consumed is gone.
#[auto_mutex(on_error = |_, name| Ok(name))] async fn consumed(name: String) -> Out<String> { Ok(name) }
#[auto_mutex(on_error = |_| Ok(name))] async fn consumed_too(name: String) -> Out<String> { Ok(name) }

/// A part of a parameter that has no name cannot be handed on.
#[auto_mutex(on_timeout = busy)] fn hidden((month, _): (u32, u32)) -> Out { Ok(month) }
#[auto_mutex(on_timeout = |months| busy(months))] fn hidden_too((month, _): (u32, u32)) -> Out { Ok(month) }

fn busy(months: (u32, u32)) -> Out { Ok(months.0) }

type Months<'a> = &'a (u32, u32);

/// Behind the alias is a reference, which the attribute cannot see.
#[auto_mutex(on_timeout = |months| Ok(months.0))] fn alias((month, next): Months<'_>) -> Out { Ok(month + next) }
