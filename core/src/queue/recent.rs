//! The queues that a thread used recently. They are found without locking the client's registry.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::lock_queue::{LockQueue, Member};
use crate::name::Name;

/// The number of slots: more than the names that most threads use at once.
const PLACES: usize = 8;

/// The last queue that was used in this slot of the cache.
struct Recent {
    member: u64,
    hash: u64,
    /// A weak reference, which keeps neither the queue nor its client alive.
    queue: Weak<LockQueue>,
}

thread_local! {
    static RECENT: RefCell<[Option<Recent>; PLACES]> = const { RefCell::new([const { None }; PLACES]) };
}

fn place(member: u64, name: &Name) -> usize {
    (name.hashed() ^ member) as usize % PLACES
}

impl LockQueue {
    /// The queue of `name`, if this thread used it recently and the store is in this process. The queue may have been
    /// retired since.
    #[inline]
    pub(crate) fn recent(member: &Member, name: &Name) -> Option<Arc<Self>> {
        let found = RECENT.try_with(|recent| {
            let recent = recent.borrow();
            let known = recent[place(member.id(), name)].as_ref()?;
            (known.member == member.id() && known.hash == name.hashed())
                .then(|| known.queue.upgrade())
                .flatten()
        });
        // A queue of another name is dropped here, after the borrow has ended.
        found.ok().flatten().filter(|queue| queue.name() == name)
    }

    /// Notes that this thread used the queue. A thread that is ending remembers nothing.
    pub(super) fn remember(self: &Arc<Self>) {
        let member = self.member();
        if !member.store().is_here() {
            return;
        }
        let _ = RECENT.try_with(|recent| {
            let known = &mut recent.borrow_mut()[place(member.id(), self.name())];
            if known
                .as_ref()
                .is_none_or(|known| known.queue.as_ptr() != Arc::as_ptr(self))
            {
                *known = Some(Recent {
                    member: member.id(),
                    hash: self.name().hashed(),
                    queue: Arc::downgrade(self),
                });
            }
        });
    }
}
