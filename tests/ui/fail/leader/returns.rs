//! The return type carries the error of a call that cannot stand for the lead.
use std::fmt::Display;

use auto_mutex::{LockError, Term, auto_leader};

#[auto_leader] async fn nothing(term: &Term) { let _ = term.check(); }
#[auto_leader] fn number() -> u32 { 7 }

struct Mine;

#[auto_leader] async fn error_type(term: &Term) -> Result<u64, Mine> { Ok(term.number()) }
#[auto_leader] fn generic<E>(term: &Term) -> Result<u64, E> { Ok(term.number()) }
#[auto_leader] fn opaque() -> impl Display { 7 }
#[auto_leader] fn never() -> ! { loop {} }
#[auto_leader] async fn body() -> Result<u32, LockError> { Ok("text") }
#[auto_leader] async fn later() -> Result<impl Future<Output = u32>, LockError> { Ok(async { 7 }) }
