//! [`Deadlock`]: what a client does about deadlocks.

/// The reaction of a client to deadlocks: see [`Config::deadlock`](crate::Config::deadlock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Deadlock {
    /// Do nothing. If a call of this client takes part in a deadlock, the other clients do not find that deadlock
    /// either.
    Off,
    /// Log one warning per deadlock, which names every lock, process and line.
    #[default]
    Report,
    /// Also let one call of the deadlock fail with [`LockError::Deadlock`](crate::LockError::Deadlock), so that the
    /// other calls continue.
    Fail,
}
