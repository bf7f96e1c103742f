//! [`Guarantees`]: what the locks of a deployment are worth, as far as the store can find out.
//!
//! `kinds` has the possible answers, `weakness` what to do about the bad ones.

mod kinds;
#[cfg(test)]
mod tests;
mod weakness;

use std::collections::BTreeSet;
use std::fmt;

use crate::acl::listed;

pub use self::kinds::{AfterFailover, AfterRestart, Eviction};
pub use self::weakness::Weakness;

/// What the locks of a client are worth on the servers that it is connected to: returned by
/// [`Client::guarantees`](crate::Client::guarantees), found out at set-up. Of several servers it is the weakest that counts.
///
/// While everything runs, a lock has no more holders than it may have. The fields say what becomes of that when
/// something does not run.
///
/// ```
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// use auto_mutex::{AfterRestart, Client};
///
/// let client = Client::connect("memory://")?;
/// let guarantees = client.guarantees();
/// println!("{guarantees}");
/// assert_eq!(guarantees.restart, AfterRestart::NoServer);
/// assert!(guarantees.weaknesses().is_empty());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guarantees {
    /// What becomes of held locks when a server is killed and starts again.
    pub restart: AfterRestart,
    /// What becomes of held locks when a replica takes over.
    pub failover: AfterFailover,
    /// Whether a lock may be evicted when memory is full.
    pub eviction: Eviction,
    /// How many replicas have a grant before it counts; set by `Config::replicas`.
    pub replicas: u32,
    /// Whether the waiters of all processes are served in the order in which they came.
    pub fifo: bool,
    /// Whether a grant has a fencing token that is larger than all before it.
    pub fencing_tokens: bool,
    /// The rights that are missing to find out more, as an ACL rule names them.
    pub missing_rights: BTreeSet<&'static str>,
}

impl Guarantees {
    /// Of a store in this process.
    pub(crate) fn of_memory() -> Self {
        Self {
            restart: AfterRestart::NoServer,
            failover: AfterFailover::NoReplicas,
            eviction: Eviction::Never,
            replicas: 0,
            fifo: true,
            fencing_tokens: true,
            missing_rights: BTreeSet::new(),
        }
    }

    /// Of a store that does not say more.
    pub(crate) fn unknown() -> Self {
        Self {
            restart: AfterRestart::Unknown,
            failover: AfterFailover::Unknown,
            eviction: Eviction::Unknown,
            ..Self::of_memory()
        }
    }

    /// Of two deployments, or servers, together: what the weaker gives.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            restart: self.restart.max(other.restart),
            failover: self.failover.max(other.failover),
            eviction: self.eviction.max(other.eviction),
            replicas: self.replicas.min(other.replicas),
            fifo: self.fifo && other.fifo,
            fencing_tokens: self.fencing_tokens && other.fencing_tokens,
            missing_rights: &self.missing_rights | &other.missing_rights,
        }
    }

    /// What may let two believe in the same lock, or is not known, and what to do about it. Set-up warns of each.
    #[must_use]
    pub fn weaknesses(&self) -> Vec<Weakness> {
        weakness::of(self)
    }
}

/// A short list, one line each.
impl fmt::Display for Guarantees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "after a restart of the server: {}", self.restart)?;
        writeln!(f, "after a failover: {}", self.failover)?;
        writeln!(f, "eviction: {}", self.eviction)?;
        if self.replicas > 0 {
            writeln!(
                f,
                "a grant is on {} replicas before it counts",
                self.replicas
            )?;
        }
        let order = if self.fifo {
            "first come, first served"
        } else {
            "none"
        };
        writeln!(f, "order of waiters: {order}")?;
        let tokens = if self.fencing_tokens {
            "grow with every grant"
        } else {
            "none"
        };
        write!(f, "fencing tokens: {tokens}")?;
        if !self.missing_rights.is_empty() {
            let rights = listed('+', &self.missing_rights);
            write!(f, "\nmissing to know more: {rights}")?;
        }
        Ok(())
    }
}
