//! The witness: records which callers hold, and panics if a rule is broken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::base::clock::Instant;
use crate::queue::Hold;

/// Records which callers hold. Shuttle switches threads only inside its own primitives, and the mutex of the witness is
/// one of `std`. So no other thread runs while this mutex is locked.
pub(super) struct Witness {
    /// The budget of local handoffs: the maximum number, and the maximum time.
    handoff: (u32, Duration),
    /// No hold may be lost.
    calm: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    inside: Vec<Arc<Hold>>,
    last_token: u64,
    /// The last grant of the store whose first holder the witness saw: the token without the number of the handoff, and
    /// the start of that holder's hold.
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
            // Holders of the same owner share a token.
            let grown = grant.token > seen.last_token
                || grant.token == seen.last_token && want.owner.is_some();
            seen.last_token = grant.token.max(seen.last_token);
            self.check_budget(&mut seen, hold);
            (others, grown)
        };
        // All these holds were granted before the first check below, and a hold that has ended never becomes valid again.
        // So all holds that a check finds valid were valid at the same time: at the first check.
        let another = |other: &&Arc<Hold>| want.owner.is_none() || other.want().owner != want.owner;
        let valid = others
            .iter()
            .filter(another)
            .filter(|other| other.is_valid());
        let taken: u32 = valid.map(|other| other.weight()).sum();
        if hold.is_valid() {
            let fits = taken + hold.weight() <= want.share.capacity;
            assert!(fits, "too many hold: {hold:?} beside {others:?}");
            // If several callers hold at the same time, the witness may see a later grant first.
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

    /// Records that the hold will be released now, or was lost.
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
