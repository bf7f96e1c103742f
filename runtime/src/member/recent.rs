//! The names that a thread has to do with again and again: found without the register's locks.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use crate::name::Name;
use crate::queue::Local;

/// More than most threads use at once.
const PLACES: usize = 8;

/// What was looked up last of those that have the same place.
struct Recent {
    member: u64,
    hash: u64,
    /// Keeps neither the name nor its client.
    local: Weak<Local>,
}

thread_local! {
    static RECENT: RefCell<[Option<Recent>; PLACES]> = const { RefCell::new([const { None }; PLACES]) };
}

fn place(member: u64, name: &Name) -> usize {
    (name.hashed() ^ member) as usize % PLACES
}

/// The local queue of `name`, if this thread has looked it up of late. It may have been retired since.
#[inline]
pub(super) fn find(member: u64, name: &Name) -> Option<Arc<Local>> {
    let found = RECENT.try_with(|recent| {
        let recent = recent.borrow();
        let known = recent[place(member, name)].as_ref()?;
        (known.member == member && known.hash == name.hashed())
            .then(|| known.local.upgrade())
            .flatten()
    });
    // Dropped, if it is another, when nothing is borrowed.
    found.ok().flatten().filter(|local| local.name() == name)
}

/// `local` was looked up. A thread that is ending remembers nothing.
pub(super) fn remember(member: u64, local: &Arc<Local>) {
    let _ = RECENT.try_with(|recent| {
        let known = &mut recent.borrow_mut()[place(member, local.name())];
        if known
            .as_ref()
            .is_none_or(|known| known.local.as_ptr() != Arc::as_ptr(local))
        {
            *known = Some(Recent {
                member,
                hash: local.name().hashed(),
                local: Arc::downgrade(local),
            });
        }
    });
}
