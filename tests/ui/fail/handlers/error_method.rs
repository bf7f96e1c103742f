//! A function of a type that answers as `on_error` takes the error, or `self` and the error.
use auto_mutex::{LockError, auto_mutex};

type Out = Result<u32, LockError>;

struct Clerk;

impl Clerk {
    #[auto_mutex(on_error = Self::nothing)] fn close(&self) -> Out { Ok(1) }
    #[auto_mutex(on_error = Self::three)] async fn open(&self) -> Out { Ok(1) }
    #[auto_mutex(on_error = Clerk::text)] fn book(&self) -> Out { Ok(1) }
    #[auto_mutex(on_error = Self::method)] fn without_self() -> Out { Ok(1) }

    /// The body may give `self` away.
    #[auto_mutex(on_error = Self::method)] async fn with_mut_self(&mut self) -> Out { Ok(1) }
    #[auto_mutex(on_error = Self::number)] fn other_answer(&self) -> Out { Ok(1) }
    fn nothing(&self) -> Out { Ok(0) }
    fn three(&self, month: u32, error: LockError) -> Out { if month > 0 { Ok(month) } else { Err(error) } }
    fn text(&self, error: String) -> Out { Ok(error.len() as u32) }
    fn method(&self, error: LockError) -> Out { Err(error) }
    fn number(&self, _: LockError) -> u32 { 0 }
}
