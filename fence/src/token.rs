//! [`Token`]: a lock's name and a fencing token of it; [`Tokens`]: whatever has some.

use auto_mutex_core::store::Ticket;
use auto_mutex_core::{Current, MultiGuard, MutexGuard, Permit, RwLockWriteGuard, Term};

use crate::error::FenceError;

/// The complete name of a lock and the fencing token of one of its grants.
///
/// A process that was told both by message can fence with them, too:
///
/// ```
/// use auto_mutex_fence::{Token, Tokens};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let guard = auto_mutex::Client::connect("memory://")?.mutex("report").blocking_lock()?;
/// let token = &guard.tokens()[0];
/// let message = (token.name(), token.number(), token.ticket());
///
/// let there = Token::new(message.0, message.1).with_ticket(message.2);
/// assert_eq!(there.tokens(), guard.tokens());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    name: String,
    number: u64,
    pub(crate) ticket: Option<String>,
}

impl Token {
    /// `name` is the complete name of the lock, with the namespace, as [`Tokens::tokens`] has it.
    pub fn new(name: impl Into<String>, number: u64) -> Self {
        Self {
            name: name.into(),
            number,
            ticket: None,
        }
    }

    /// With the ticket that [`ticket`](Self::ticket) returned, or without one.
    #[must_use]
    pub fn with_ticket(mut self, ticket: Option<&str>) -> Self {
        self.ticket = ticket.map(str::to_owned);
        self
    }

    /// The complete name of the lock, with the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fencing token. It fits into a signed 64-bit column.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// If the locks are in PostgreSQL, the ticket by which that knows the holder: a transaction in the same database
    /// then needs no table to be fenced.
    #[must_use]
    pub fn ticket(&self) -> Option<&str> {
        self.ticket.as_deref()
    }

    /// Compares with the greatest token that a resource knows, this one included.
    ///
    /// # Errors
    ///
    /// [`FenceError::Stale`] if `newest` is greater.
    pub fn compare(&self, newest: u64) -> Result<(), FenceError> {
        if newest <= self.number {
            return Ok(());
        }
        Err(self.stale(newest))
    }

    pub(crate) fn stale(&self, newest: u64) -> FenceError {
        FenceError::Stale {
            name: self.name.clone(),
            ours: self.number,
            newest,
        }
    }
}

/// What has fencing tokens: guards, [`Current`], a leader's [`Term`], and [`Token`] itself.
///
/// Only locks that nobody shares have tokens to fence with, so the [`Permit`] of a semaphore has one only if it holds
/// all permits.
pub trait Tokens {
    /// The locks' complete names and tokens.
    fn tokens(&self) -> Vec<Token>;

    /// Returns an error if this process knows that it has lost a lock, as the guard's `check` does, or that it shares
    /// it. A [`Token`] itself doesn't know.
    ///
    /// # Errors
    ///
    /// [`FenceError::Lost`], [`FenceError::Shared`].
    fn check_held(&self) -> Result<(), FenceError> {
        Ok(())
    }
}

impl<T: Tokens + ?Sized> Tokens for &T {
    fn tokens(&self) -> Vec<Token> {
        (**self).tokens()
    }

    fn check_held(&self) -> Result<(), FenceError> {
        (**self).check_held()
    }
}

impl Tokens for Token {
    fn tokens(&self) -> Vec<Token> {
        vec![self.clone()]
    }
}

impl Tokens for [Token] {
    fn tokens(&self) -> Vec<Token> {
        self.to_vec()
    }
}

macro_rules! tokens_of {
    ($($guard:ident $($name:ident)?),*) => {
        $(impl Tokens for $guard {
            fn tokens(&self) -> Vec<Token> {
                let tokens = self.fencing_tokens().into_iter();
                let token = |(name, number, scheme, ticket): (String, u64, &str, Ticket)| {
                    let ticket = (scheme == "postgres").then(|| ticket.to_string());
                    Token { name, number, ticket }
                };
                tokens.map(token).collect()
            }

            fn check_held(&self) -> Result<(), FenceError> {
                self.check().map_err(|source| FenceError::Lost { source })?;
                $(if self.fencing_tokens().is_empty() {
                    let name = self.$name().to_owned();
                    return Err(FenceError::Shared { name });
                })?
                Ok(())
            }
        })*
    };
}
tokens_of!(
    Current name,
    MultiGuard,
    MutexGuard,
    Permit name,
    RwLockWriteGuard,
    Term
);

/// The tokens in the order in which all transactions lock their rows, if they are still held and can be checked.
pub(crate) fn in_order(fence: &(impl Tokens + ?Sized)) -> Result<Vec<Token>, FenceError> {
    fence.check_held()?;
    let mut tokens = fence.tokens();
    tokens.sort_unstable();
    tokens.dedup();
    let fits = |token: &Token| token.number > 0 && i64::try_from(token.number).is_ok();
    let reason = if tokens.is_empty() {
        "there is no fencing token to check"
    } else if !tokens.iter().all(fits) {
        "a fencing token is from 1 to 2^63 - 1"
    } else if tokens.windows(2).any(|two| two[0].name == two[1].name) {
        "there are two fencing tokens of one lock: at most one of them is still held"
    } else {
        return Ok(tokens);
    };
    Err(FenceError::Invalid { reason })
}
