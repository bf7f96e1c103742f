//! The names that are meant, in the order in which they are taken.

use crate::error::LockError;
use crate::handle::{Handle, Target};

/// Each name once, in order.
pub(super) fn resolve(handles: &[Handle]) -> Result<Vec<(&Handle, Target<'_>)>, LockError> {
    if handles.is_empty() {
        return Err(LockError::InvalidName {
            name: String::new(),
            reason: "there is none: give at least one",
        });
    }
    let resolve = |handle| Ok((handle, Handle::resolve(handle)?));
    let mut names: Vec<_> = handles.iter().map(resolve).collect::<Result<_, _>>()?;
    names.sort_by(|one, other| one.1.name.as_str().cmp(other.1.name.as_str()));
    names.dedup_by(|one, other| one.1.name == other.1.name);
    Ok(names)
}
