//! [`Term`]: the time in which this process leads.

use std::fmt;
use std::sync::Arc;

use auto_mutex_protocol::leading::{Rules, ends_lead};

use super::watch::announce;
use crate::base::error::{LockError, LossCause};
use crate::caller;
use crate::locks::handle::Holding;
use crate::observe::HOLD;
use crate::observer::{Metric, SITE};
use crate::queue::{ClientCore, Hold, Lead};

/// The time in which this process leads: from its grant until its body has ended. The body of a
/// [`Leader`](crate::Leader) gets it.
#[must_use = "if unused, the lead is given up at once"]
pub struct Term {
    // Dropped in this order: who waits for the end of the term finds the seat free.
    holding: Holding,
    office: Office,
}

impl Term {
    pub(super) fn begin(mut holding: Holding, rules: Rules) -> Self {
        let lead = Lead::new(holding.first().clone(), rules);
        holding.bound(lead.bound());
        holding.first().queue.core.begin_term(&lead);
        let office = Office(lead);
        office.report(1);
        let (name, term) = (holding.first().name(), holding.first().grant.token);
        tracing::info!(target: HOLD, %name, term, "this process leads");
        Self { holding, office }
    }

    /// The complete name of the seat, with the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.hold().name().as_str()
    }

    /// The number of the term: the fencing token of the lock, greater than those of all earlier terms. Pass it with
    /// each command, and let the receiver refuse smaller ones. It fits into a signed 64-bit column.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.hold().grant.token
    }

    /// Returns an error if this process no longer leads, or has to stop leading, for use with `?`. Does not ask the
    /// store.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`], whose cause says why.
    pub fn check(&self) -> Result<(), LockError> {
        // What ended the term, rather than what became of the lock after that.
        self.office.0.check()?;
        self.holding.check()
    }

    /// Whether [`check`](Self::check) fails. This never changes back to `false`.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.check().is_err()
    }

    /// Completes when this process no longer leads, or has to stop leading.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn lost(&self) {
        self.holding.holds().ended().await;
    }

    /// Gives the lead up: the body is told to end, as by [`Leader::resign`](crate::Leader::resign), and `lead` then
    /// stands again, behind all who wait.
    pub fn resign(&self) {
        self.office.0.tell(LossCause::Released);
    }

    /// Reports that the leader is alive and works: see [`Leader::progress`](crate::Leader::progress). Costs a few
    /// nanoseconds.
    pub fn progress(&self) {
        self.office.0.progress();
    }

    /// For the crate `auto-mutex-fence`.
    #[doc(hidden)]
    #[must_use]
    pub fn fencing_tokens(&self) -> Vec<crate::queue::FencingToken> {
        self.holding.holds().fencing_tokens()
    }

    pub(super) fn hold(&self) -> &Arc<Hold> {
        self.holding.first()
    }

    /// Runs the body. Returns `None` if the term was over and the body failed or was dropped.
    ///
    /// Expansions call this in a loop, because a future that calls an `AsyncFnMut` with references among its captures
    /// is not `Send`.
    #[doc(hidden)]
    pub async fn run<T, E>(
        &self,
        body: impl Future<Output = Result<T, E>>,
    ) -> Option<Result<T, E>> {
        let holds = self.holding.holds().clone();
        let ran = caller::run(holds, body).await;
        self.result(ran.ok())
    }

    /// Like [`run`](Self::run), but blocks the thread.
    #[doc(hidden)]
    pub fn run_blocking<T, E>(&self, body: impl FnOnce() -> Result<T, E>) -> Option<Result<T, E>> {
        // The process may have been suspended since the grant.
        if self.is_lost() {
            return self.result(None);
        }
        let _entered = caller::enter_body(self.holding.holds());
        self.result(Some(body()))
    }

    fn result<T, E>(&self, returned: Option<Result<T, E>>) -> Option<Result<T, E>> {
        let over = self.check().err();
        let ok = returned.as_ref().map(Result::is_ok);
        if ends_lead(ok, over.is_none()) {
            return returned;
        }
        let cause = match over {
            Some(LockError::Lost { cause, .. }) => Some(cause),
            _ => None,
        };
        let (name, term) = (self.name(), self.number());
        match cause {
            Some(LossCause::Released | LossCause::ShutDown) => {
                tracing::info!(target: HOLD, name, term, "this process has resigned");
            }
            _ => {
                let shown = cause.map(tracing::field::display);
                tracing::warn!(target: HOLD, name, term, cause = shown, "this process no longer leads")
            }
        }
        None
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term")
            .field("name", &self.name())
            .field("number", &self.number())
            .field("lost", &self.is_lost())
            .finish_non_exhaustive()
    }
}

/// Ends the term for the client, the metrics and the watchers when it is dropped, also after a panic.
struct Office(Arc<Lead>);

impl Office {
    fn report(&self, change: i64) {
        let hold = self.0.hold();
        let core = &hold.queue.core;
        count(core, hold.by().label, hold.grant.token, change);
        announce(core, hold.name());
    }
}

/// Reports that a term begins (1) or ends (-1). 0 only creates the time series: who stands and does not lead exports 0.
pub(super) fn count(core: &ClientCore, label: &'static str, token: u64, change: i64) {
    if let Some(observer) = core.observer() {
        let labels = [(SITE, label)];
        let token = i64::try_from(token).unwrap_or(i64::MAX);
        observer.add(Metric::Leader, &labels, change);
        observer.add(Metric::LeaderTerm, &labels, change * token);
        observer.add(Metric::LeaderChanges, &labels, change.max(0));
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        self.report(-1);
        self.0.hold().queue.core.end_term(&self.0);
    }
}
