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
        let name = name.into();
        let ticket = None;
        Self {
            name,
            number,
            ticket,
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

    /// If the locks are in PostgreSQL, the ticket by which that knows the holder: a transaction in the same database then needs
    /// no table to be fenced.
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
/// Only locks that nobody shares have tokens to fence with, so the [`Permit`] of a semaphore has one only if it holds all
/// permits.
pub trait Tokens {
    /// The locks' complete names and tokens.
    fn tokens(&self) -> Vec<Token>;
}

impl<T: Tokens + ?Sized> Tokens for &T {
    fn tokens(&self) -> Vec<Token> {
        (**self).tokens()
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
    ($($guard:ident),*) => {
        $(impl Tokens for $guard {
            fn tokens(&self) -> Vec<Token> {
                let tokens = self.fencing_tokens().into_iter();
                let token = |(name, number, scheme, ticket): (String, u64, &str, Ticket)| {
                    let ticket = (scheme == "postgres").then(|| ticket.to_string());
                    Token { name, number, ticket }
                };
                tokens.map(token).collect()
            }
        })*
    };
}
tokens_of!(
    Current,
    MultiGuard,
    MutexGuard,
    Permit,
    RwLockWriteGuard,
    Term
);

/// Puts tokens into the order in which all transactions lock their rows, and checks that there are some, and that they
/// fit into a signed column.
#[allow(dead_code, reason = "unused without features")]
pub(crate) fn in_order(mut tokens: Vec<Token>) -> Result<Vec<(Token, i64)>, FenceError> {
    tokens.sort_unstable();
    let signed = tokens.into_iter().map(|token| {
        let number = i64::try_from(token.number)
            .ok()
            .filter(|number| *number > 0);
        let number = number.ok_or(FenceError::Invalid {
            reason: "a fencing token is from 1 to 2^63 - 1",
        })?;
        Ok((token, number))
    });
    let signed: Vec<_> = signed.collect::<Result<_, FenceError>>()?;
    match signed.is_empty() {
        true => Err(FenceError::Invalid {
            reason: "there is no fencing token to check: a read lock or a permit is shared with others",
        }),
        false => Ok(signed),
    }
}
