//! [`DeadlockHop`]: one call of a deadlock.

use std::fmt;
use std::time::Duration;

use super::{Holder, apart};

/// One call of a deadlock: the lock that its task holds, and the lock that the task waits for, which the next hop
/// holds. The last hop waits for the lock of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadlockHop {
    /// The process, and the code in it that took the lock in [`holds`](Self::holds). `None` if another program wrote
    /// the record.
    pub holder: Option<Box<Holder>>,
    /// The lock that the task holds.
    pub holds: String,
    /// How long the task has held that lock.
    pub held: Duration,
    /// The lock that the task waits for.
    pub waits_for: String,
    /// The code that waits: a path, then ` at file:line`. Empty if unknown.
    pub waits_at: String,
    /// How long the task has waited.
    pub waited: Duration,
}

impl DeadlockHop {
    #[doc(hidden)]
    pub fn alone(name: &str) -> Self {
        Self {
            holder: None,
            holds: name.to_owned(),
            held: Duration::ZERO,
            waits_for: name.to_owned(),
            waits_at: String::new(),
            waited: Duration::ZERO,
        }
    }
}

/// `7@host (billing::Ledger::close, src/ledger.rs:41) has held A for 12 s and waited for B for 3.0 s`
impl fmt::Display for DeadlockHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holder {
            Some(holder) => {
                write!(f, "{}@{} (", holder.pid, holder.host)?;
                write_location(f, &holder.site)?;
                f.write_str(")")?;
            }
            None => f.write_str("an unknown process")?,
        }
        write!(f, " has held {} for {}", self.holds, since(self.held))?;
        let waited = since(self.waited);
        write!(f, " and waited for {} for {waited}", self.waits_for)?;
        if !self.waits_at.is_empty() {
            f.write_str(" (")?;
            write_location(f, &self.waits_at)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

fn write_location(f: &mut fmt::Formatter<'_>, site: &str) -> fmt::Result {
    match apart(site) {
        Some((path, file, line)) => write!(f, "{path}, {file}:{line}"),
        None => f.write_str(site),
    }
}

/// Whole seconds, with one decimal below ten.
fn since(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{seconds} s"),
    }
}

/// The text of [`LockError::Deadlock`](super::LockError::Deadlock).
pub(super) fn described(cycle: &[DeadlockHop]) -> String {
    match cycle {
        [] => "the call would wait forever".to_owned(),
        [hop] if hop.holder.is_none() && hop.holds == hop.waits_for => {
            let name = &hop.holds;
            format!(
                "waiting for {name} would never end, because its holder waits for this call: release the lock first"
            )
        }
        hops => {
            let hops: Vec<String> = hops.iter().map(DeadlockHop::to_string).collect();
            format!("deadlock: {}", hops.join("; "))
        }
    }
}
