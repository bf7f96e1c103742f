//! The order in which the locks of a call are taken.

use crate::error::LockError;
use crate::name::Name;

/// Sorts `items` by name, and keeps one item for each name; an error if there are no items.
pub(super) fn in_order<T>(
    mut items: Vec<T>,
    name: impl Fn(&T) -> &Name,
) -> Result<Vec<T>, LockError> {
    if items.is_empty() {
        return Err(LockError::InvalidName {
            name: String::new(),
            reason: "there is none: give at least one",
        });
    }
    items.sort_by(|one, other| name(one).as_str().cmp(name(other).as_str()));
    items.dedup_by(|one, other| name(one) == name(other));
    Ok(items)
}
