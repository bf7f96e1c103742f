//! Records which callers hold, and panics if they break a rule.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::base::clock::Instant;
use crate::queue::Hold;

/// Records which callers hold. Shuttle switches threads only in its own primitives. This mutex is one of `std`, so no
/// other thread runs while it is locked.
pub(super) struct Witness {
    /// The budget of local handoffs: how many, and for how long.
    handoff: (u32, Duration),
    /// Whether no hold may be lost.
    calm: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    inside: Vec<Arc<Hold>>,
    last_token: u64,
    /// The last grant of the store whose first holder was seen: its token without the handoff's number, and the start
    /// of that holder's hold.
    granted: Option<(u64, Instant)>,
    served: usize,
}

impl Witness {
    pub(super) fn new(handoff: (u32, Duration)) -> Arc<Self> {
        Arc::new(Self {
            handoff,
            calm: AtomicBool::new(false),
            seen: Mutex::default(),
        })
    }

    /// From now on, no hold may be lost.
    pub(super) fn expects_calm(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    fn check_calm(&self, hold: &Hold) {
        let calm = self.calm.load(Ordering::Relaxed);
        assert!(!calm || hold.is_valid(), "{hold:?} was lost for no reason");
    }

    /// Records that a caller has `hold` and begins its section.
    pub(super) fn enters(&self, hold: &Arc<Hold>) {
        self.check_calm(hold);
        let (grant, want) = (&hold.grant, hold.want());
        let (others, grown) = {
            let mut seen = self.seen.lock().unwrap();
            let others = seen.inside.clone();
            seen.inside.push(hold.clone());
            seen.served += 1;
            // Calls of one owner share a hold.
            let grown = grant.token > seen.last_token
                || grant.token == seen.last_token && want.owner.is_some();
            seen.last_token = grant.token.max(seen.last_token);
            self.check_budget(&mut seen, hold);
            (others, grown)
        };
        // All these holds were granted before the first check below, and an ended hold never becomes valid again. All
        // that a check finds valid were therefore valid at the time of the first check.
        let another = |other: &&Arc<Hold>| !Arc::ptr_eq(other, hold);
        let valid = others
            .iter()
            .filter(another)
            .filter(|other| other.is_valid());
        let taken: u32 = valid.map(|other| other.weight()).sum();
        if hold.is_valid() {
            let fits = taken + hold.weight() <= want.share.capacity;
            assert!(fits, "too many hold: {hold:?} beside {others:?}");
            // When several callers hold at once, a later grant may be seen first.
            assert!(
                grown || want.share.capacity > 1,
                "the fencing token of {hold:?} did not grow"
            );
        }
    }

    /// Checks that local handoffs keep to their budget.
    fn check_budget(&self, seen: &mut Seen, hold: &Hold) {
        let (fencing, number) = (hold.grant.token / 1024, hold.grant.token % 1024);
        let (times, time) = self.handoff;
        assert!(number <= u64::from(times), "handed on too often");
        match seen.granted {
            _ if number == 0 => seen.granted = Some((fencing, hold.since)),
            Some((same, since)) if same == fencing => {
                assert!(hold.since < since.after(time), "handed on too late");
            }
            _ => {}
        }
    }

    /// Records that the hold was lost, or is about to be released.
    pub(super) fn leaves(&self, hold: &Arc<Hold>) {
        self.check_calm(hold);
        let mut seen = self.seen.lock().unwrap();
        if let Some(index) = seen
            .inside
            .iter()
            .position(|inside| Arc::ptr_eq(inside, hold))
        {
            seen.inside.swap_remove(index);
        }
    }

    pub(super) fn served(&self) -> usize {
        self.seen.lock().unwrap().served
    }
}
