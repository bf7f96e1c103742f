//! What the background thread does for the leaders of a client: it looks at their terms, and wakes who waits for a
//! time.

use std::sync::Arc;

use super::ClientCore;
use crate::base::clock::Instant;
use crate::base::error::{LockError, LossCause};
use crate::base::name::Name;
use crate::base::wait::{DeferredWakes, Promise, lock};
use crate::queue::lead::Lead;

impl ClientCore {
    pub(crate) fn begin_term(&self, lead: &Arc<Lead>) {
        lock(&self.terms).push(lead.clone());
        // A drain may have begun before it could find this term.
        if self.is_draining() {
            lead.tell(LossCause::ShutDown);
        }
        self.timers.interrupt();
    }

    pub(crate) fn end_term(&self, lead: &Arc<Lead>) {
        lock(&self.terms).retain(|known| !Arc::ptr_eq(known, lead));
        lead.end();
    }

    /// The terms of this process for the seat `name`.
    pub(crate) fn terms(&self, name: &Name) -> Vec<Arc<Lead>> {
        let mut terms = self.all_terms();
        terms.retain(|lead| lead.hold().name() == name);
        terms
    }

    pub(super) fn all_terms(&self) -> Vec<Arc<Lead>> {
        lock(&self.terms).clone()
    }

    /// Completes at `time`, or when the client is closed.
    pub(crate) async fn sleep_until(&self, time: Instant, name: &Name) -> Result<(), LockError> {
        let alarm = Arc::new(Promise::default());
        {
            let mut alarms = lock(&self.alarms);
            // Checked under the mutex, so that `wake_sleepers` gets every alarm.
            self.check(name)?;
            // Those whose sleepers have left.
            alarms.retain(|(_, alarm)| Arc::strong_count(alarm) > 1);
            alarms.push((time, alarm.clone()));
        }
        self.timers.interrupt();
        alarm.wait().await;
        self.check(name)
    }

    /// Returns when to look again.
    pub(super) fn look_at_terms(&self, now: Instant) -> Option<Instant> {
        let mut wakes = DeferredWakes::default();
        let terms = self.all_terms();
        let looks = terms.iter().map(|lead| lead.look(now, &mut wakes)).min();
        wakes.wake();
        let alarm = self.wake_sleepers(now);
        [looks, alarm].into_iter().flatten().min()
    }

    /// Completes the alarms that are due at `now`, and returns the next.
    pub(super) fn wake_sleepers(&self, now: Instant) -> Option<Instant> {
        let mut wakes = DeferredWakes::default();
        let mut alarms = lock(&self.alarms);
        for (_, alarm) in alarms.extract_if(.., |(time, _)| *time <= now) {
            let _ = alarm.complete((), &mut wakes);
        }
        let next = alarms.iter().map(|(time, _)| *time).min();
        drop(alarms);
        wakes.wake();
        next
    }
}
