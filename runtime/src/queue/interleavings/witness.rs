//! The witness: sees who is inside, and complains.

use std::sync::{Arc, Mutex};

use crate::lease::Hold;

/// Sees who is inside. Its own lock is none of shuttle's: nobody else runs while it is held.
#[derive(Default)]
pub(super) struct Witness(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    inside: Vec<Arc<Hold>>,
    last_token: u64,
    served: usize,
}

impl Witness {
    /// Somebody has `hold`, and begins.
    pub(super) fn enters(&self, hold: &Arc<Hold>) {
        let (capacity, token) = (hold.grant().capacity, hold.grant().token);
        let (others, grown) = {
            let mut seen = self.0.lock().unwrap();
            let others = seen.inside.clone();
            seen.inside.push(hold.clone());
            seen.served += 1;
            let grown = token > seen.last_token;
            seen.last_token = token.max(seen.last_token);
            (others, grown)
        };
        // All were granted before the first look; so what is still valid at its own look was valid with all others then.
        let valid = others.iter().filter(|other| other.is_valid());
        let taken: u32 = valid.map(|other| other.weight()).sum();
        if hold.is_valid() {
            assert!(
                taken + hold.weight() <= capacity,
                "too many hold: {hold:?} beside {others:?}"
            );
            // Of several that go in together one may be seen before another.
            assert!(
                grown || capacity > 1,
                "the fencing token of {hold:?} did not grow"
            );
        }
    }

    /// It will be released now, or was lost.
    pub(super) fn leaves(&self, hold: &Arc<Hold>) {
        let mut seen = self.0.lock().unwrap();
        seen.inside.retain(|inside| !Arc::ptr_eq(inside, hold));
    }

    pub(super) fn served(&self) -> usize {
        self.0.lock().unwrap().served
    }
}
