//! [`Deadlock`]: what a client does about deadlocks.

/// How a client reacts to deadlocks: see [`Config::deadlock`](crate::Config::deadlock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Deadlock {
    /// Do nothing. Other clients do not find a deadlock with a call of this client either.
    Off,
    /// Log one warning per deadlock, with every lock, process and line.
    #[default]
    Report,
    /// Also make one call of the deadlock fail with [`LockError::Deadlock`](crate::LockError::Deadlock), so that the
    /// others continue.
    Fail,
}
