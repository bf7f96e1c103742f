//! The functions that lead: their expansion runs the body once for each term.

use super::answer::{AtOnce, Inside};
use super::request::Request;
use super::value::Nothing;
use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::locks::leader::{Leader, Seat, Term};

#[diagnostic::on_unimplemented(
    message = "the return type `{Self}` cannot carry a `LockError`",
    label = "what should a call return if it cannot stand for the lead?",
    note = "return `Result<_, E>` with an error `E` that implements `From<auto_mutex::LockError>` (a type parameter needs the bound)",
    note = "an error type of another crate cannot implement it: return your own error that wraps both"
)]
pub trait LeadOutput<M>: Sized {
    const CARRIER: Carrier<Self>;
}

/// How a return type carries the error of a call. In a value, because for a wrong type the compiler would report each
/// function that requires the trait.
pub struct Carrier<R> {
    from_lock_error: fn(LockError) -> R,
    result: fn(R) -> Result<R, R>,
}

#[diagnostic::do_not_recommend]
impl<T, E: From<LockError>> LeadOutput<AtOnce> for Result<T, E> {
    const CARRIER: Carrier<Self> = Carrier {
        from_lock_error: |error| Err(error.into()),
        result: |value| if value.is_ok() { Ok(value) } else { Err(value) },
    };
}

#[diagnostic::do_not_recommend]
impl<E: Nothing + From<LockError>> LeadOutput<Inside> for E {
    const CARRIER: Carrier<Self> = Carrier {
        from_lock_error: E::from,
        result: Ok,
    };
}

/// A call that stands for the lead.
pub struct Standing<R> {
    seat: Result<Seat<'static>, LockError>,
    carrier: Carrier<R>,
    blocking: bool,
}

pub fn standing<R>(
    mut request: Request<Leader>,
    carrier: Carrier<R>,
    blocking: bool,
) -> Standing<R> {
    Standing {
        seat: request.seat(blocking),
        carrier,
        blocking,
    }
}

impl<R> Standing<R> {
    pub async fn next(&self) -> Result<Term, R> {
        let obtained = match &self.seat {
            Ok(seat) => seat.obtain(self.blocking).await,
            Err(error) => Err(error.clone()),
        };
        obtained.map_err(self.carrier.from_lock_error)
    }

    pub fn blocking_next(&self) -> Result<Term, R> {
        block_on(self.next())
    }

    /// Returns `None` if the term is over: then stand again.
    pub async fn run(&self, term: &Term, body: impl Future<Output = R>) -> Option<R> {
        let ran = term.run(async { (self.carrier.result)(body.await) }).await;
        self.ends(ran?)
    }

    pub fn blocking_run(&self, term: &Term, body: impl FnOnce() -> R) -> Option<R> {
        let ran = term.run_blocking(|| (self.carrier.result)(body()));
        self.ends(ran?)
    }

    fn ends(&self, returned: Result<R, R>) -> Option<R> {
        let again = |seat: &Seat<'_>| seat.stands_again(returned.is_ok());
        if self.seat.as_ref().is_ok_and(again) {
            return None;
        }
        let (Ok(value) | Err(value)) = returned;
        Some(value)
    }
}
