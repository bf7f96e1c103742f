//! What the test kit does to a client: it hears of its holds, ends their leases, and makes it a forked child.

use std::sync::{Arc, OnceLock, Weak};

#[cfg(all(test, not(shuttle)))]
use auto_mutex_protocol::client::Input;

use super::ClientCore;
use crate::base::clock;
use crate::base::name::Name;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::queue::{Hold, Witness, Witnessed};
use crate::store::Ticket;

#[derive(Default)]
pub(super) struct Tested {
    witness: OnceLock<Weak<dyn Witness>>,
    is_forked: AtomicBool,
}

impl Tested {
    pub(super) fn is_forked(&self) -> bool {
        self.is_forked.load(Ordering::Acquire)
    }
}

impl ClientCore {
    pub(crate) fn witness(&self) -> Option<Arc<dyn Witness>> {
        self.tested.witness.get()?.upgrade()
    }

    /// From now on, `witness` hears what becomes of the calls.
    pub fn set_witness(&self, witness: Weak<dyn Witness>) {
        let _ = self.tested.witness.set(witness);
    }

    /// From now on, this is what a forked child has of the client.
    pub fn fork(&self) {
        self.tested.is_forked.store(true, Ordering::Release);
    }

    /// The holds of the name that are valid by the client's clock.
    pub fn valid(&self, name: &Name) -> Vec<Witnessed> {
        let holds = self.valid_holds(name);
        holds.iter().map(|hold| Witnessed::of(hold)).collect()
    }

    fn valid_holds(&self, name: &Name) -> Vec<Arc<Hold>> {
        let queue = self.register.find(name);
        let mut holds = queue.map_or_else(Vec::new, |queue| queue.lock().holds.clone());
        holds.retain(|hold| hold.is_valid());
        holds
    }

    /// The client keeps the name no longer.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn release_kept(&self, name: &Name) {
        if let Some(queue) = self.register.find(name) {
            queue.step(|step| step.on(Input::ReleaseKept));
        }
    }

    /// Ends the lease of the ticket now.
    pub fn end_lease(&self, name: &Name, ticket: Ticket) {
        let holds = self.valid_holds(name).into_iter();
        for hold in holds.filter(|hold| hold.grant.ticket == ticket) {
            hold.set_valid(clock::now());
            // Found to be lost by a guard, as it were.
            hold.is_lost();
        }
        if let Some(queue) = self.register.find(name) {
            queue.look();
        }
    }
}
