//! [`Guarantees`]: what the servers of a client guarantee for its locks, as far as the client can find out.

mod kinds;
#[cfg(repository)]
#[cfg(test)]
mod tests;
#[doc(hidden)]
pub mod weakness;

use std::collections::BTreeSet;
use std::fmt;

pub use self::kinds::{AfterFailover, AfterRestart, Eviction};
pub use self::weakness::Weakness;

/// What the servers of a client guarantee for its locks: see
/// [`Client::guarantees`](struct.Client.html#method.guarantees). If there are several servers, each field has the value
/// of the weakest.
///
/// While no server fails, a lock never has more holders than its capacity allows. The fields describe what happens when
/// a server fails.
///
/// ```
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// use auto_mutex::{Client, Weakness};
///
/// let client = Client::connect("memory://")?;
/// let guarantees = client.guarantees();
/// println!("{guarantees}");
/// assert_eq!(guarantees.weaknesses(), [Weakness::InProcessOnly]); // not for production
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guarantees {
    /// What happens to held locks when a server is killed and starts again.
    pub restart: AfterRestart,
    /// What happens to held locks when a replica takes over.
    pub failover: AfterFailover,
    /// Whether a lock may be evicted when memory is full.
    pub eviction: Eviction,
    /// How many replicas must have a grant before it counts, as set by `Config::replicas`.
    pub replicas: u32,
    /// Whether waiters of all processes are served first come, first served.
    pub fifo: bool,
    /// Whether each grant's fencing token is greater than that of every earlier grant.
    pub fencing_tokens: bool,
    /// Whether no lock excludes anybody: see `auto_mutex::test::skip_locks`.
    pub skipped: bool,
    /// The rights, as named in ACL rules, that the user would need to find out the unknown guarantees.
    pub missing_rights: BTreeSet<&'static str>,
    /// The commands that would report the unknown guarantees, but that are disabled for every user, as managed services
    /// do with `CONFIG`. Granting rights does not help.
    pub disabled_commands: BTreeSet<&'static str>,
}

impl Guarantees {
    #[doc(hidden)]
    pub fn of_memory() -> Self {
        Self {
            restart: AfterRestart::NoServer,
            failover: AfterFailover::NoReplicas,
            eviction: Eviction::Never,
            replicas: 0,
            fifo: true,
            fencing_tokens: true,
            skipped: false,
            missing_rights: BTreeSet::new(),
            disabled_commands: BTreeSet::new(),
        }
    }

    #[doc(hidden)]
    pub fn unknown() -> Self {
        Self {
            restart: AfterRestart::Unknown,
            failover: AfterFailover::Unknown,
            eviction: Eviction::Unknown,
            ..Self::of_memory()
        }
    }

    /// Combines the guarantees of two servers: the weaker value of each field.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            restart: self.restart.max(other.restart),
            failover: self.failover.max(other.failover),
            eviction: self.eviction.max(other.eviction),
            replicas: self.replicas.min(other.replicas),
            fifo: self.fifo && other.fifo,
            fencing_tokens: self.fencing_tokens && other.fencing_tokens,
            skipped: self.skipped || other.skipped,
            missing_rights: &self.missing_rights | &other.missing_rights,
            disabled_commands: &self.disabled_commands | &other.disabled_commands,
        }
    }

    /// The weakest of the known guarantees, because any of the servers may decide about a lock.
    #[doc(hidden)]
    pub fn weakest(servers: impl IntoIterator<Item = Self>) -> Self {
        let known = servers.into_iter().filter(Self::are_known);
        known.reduce(Self::and).unwrap_or_else(Self::unknown)
    }

    #[doc(hidden)]
    pub fn are_known(&self) -> bool {
        *self != Self::unknown()
    }

    /// The settings that could let two clients think they hold the same lock, and the settings that are unknown. Set-up
    /// logs a warning for each, and the client logs more when a server brings new ones. [`Weakness::InProcessOnly`],
    /// which is usual in tests, is logged once per process at level INFO.
    #[must_use]
    pub fn weaknesses(&self) -> Vec<Weakness> {
        weakness::of(self)
    }
}

/// Lists commands as an ACL rule does, for example `+get +set`.
fn listed(sign: char, names: &BTreeSet<&'static str>) -> String {
    let names = names.iter().map(|name| format!("{sign}{name}"));
    names.collect::<Vec<_>>().join(" ")
}

/// Command names as usually written: `CONFIG GET`.
fn commands(names: &BTreeSet<&'static str>) -> String {
    let usual = |name: &&str| name.to_uppercase().replace('|', " ");
    names.iter().map(usual).collect::<Vec<_>>().join(", ")
}

/// One line for each guarantee.
impl fmt::Display for Guarantees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after a restart of the server: {}", self.restart)?;
        write!(f, "; after a failover: {}", self.failover)?;
        write!(f, "; eviction: {}", self.eviction)?;
        let replicas = self.replicas;
        if replicas > 0 {
            write!(f, "; a grant is on {replicas} replicas before it counts")?;
        }
        let or_none = |holds: bool, text| if holds { text } else { "none" };
        let order = or_none(self.fifo, "first come, first served");
        write!(f, "; order of waiters: {order}")?;
        let tokens = or_none(self.fencing_tokens, "grow with every grant");
        write!(f, "; fencing tokens: {tokens}")?;
        if self.skipped {
            write!(f, "; exclusion: none")?;
        }
        if !self.missing_rights.is_empty() {
            let rights = listed('+', &self.missing_rights);
            write!(f, "; missing to know more: {rights}")?;
        }
        if !self.disabled_commands.is_empty() {
            let commands = commands(&self.disabled_commands);
            write!(f, "; disabled by the server: {commands}")?;
        }
        Ok(())
    }
}
