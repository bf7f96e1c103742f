//! [`Seat`]: stands for the lead until the body ends it.

use std::time::Duration;

use super::Overrun;
use super::term::{Term, count};
use crate::base::clock;
use crate::base::duration::FOREVER;
use crate::base::error::LockError;
use crate::base::wait::{block_on, proceed};
use crate::caller::Caller;
use crate::locks::handle::{AcquireTarget, Holding, Options, Taking, log_obtained};
use crate::observe::ACQUIRE;
use crate::queue::{LeadRules, Patience};
use crate::store::{Backoff, Share, Trouble, meta};

const LONGEST_VALUE: usize = 1024;
/// An aborting process needs a moment for its last log line.
const SHORTEST_STOP: Duration = Duration::from_millis(100);
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The options of a leader that other locks lack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leading {
    pub(crate) value: String,
    pub(crate) stop_within: Option<Duration>,
    pub(crate) progress: Option<Duration>,
    pub(crate) overrun: Overrun,
}

pub(crate) struct Seat<'a> {
    target: AcquireTarget<'a>,
    options: Options,
    rules: LeadRules,
}

impl<'a> Seat<'a> {
    pub(crate) fn new(
        mut target: AcquireTarget<'a>,
        options: Options,
        leading: &Leading,
    ) -> Result<Self, LockError> {
        let lease = target.client.core().settings().lease();
        let stop_within = leading.stop_within.unwrap_or(lease / 5);
        if stop_within > lease / 2 {
            let reason = "it is more than half of the lease, which must be renewed in the rest: make it shorter, or `Config::lease` longer";
            return Err(LockError::invalid("stop_within", reason));
        }
        let aborts = leading.overrun == Overrun::Abort;
        if aborts && stop_within < SHORTEST_STOP {
            let reason = "with less than 100 ms, `Overrun::Abort` would abort every body";
            return Err(LockError::invalid("stop_within", reason));
        }
        if leading.value.len() > LONGEST_VALUE {
            return Err(LockError::invalid("value", "it is longer than 1,024 bytes"));
        }
        count(target.client.core(), options.label(), 0, 0);
        target.meta = meta::leading(&target.meta, &leading.value);
        let options = Options {
            expire: Some(FOREVER),
            retain: Some(Duration::ZERO),
            ..options
        };
        Ok(Self {
            target,
            options,
            rules: LeadRules {
                stop_within,
                progress: leading.progress.unwrap_or(FOREVER),
                aborts: aborts.then_some(lease / 20),
            },
        })
    }

    pub(crate) async fn lead<T, E: From<LockError>>(
        &self,
        mut body: impl AsyncFnMut(&Term) -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            let term = self.obtain(false).await?;
            match term.run(body(&term)).await {
                Some(result) => return result,
                None => drop(term),
            }
        }
    }

    pub(crate) fn blocking_lead<T, E: From<LockError>>(
        &self,
        mut body: impl FnMut(&Term) -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            let term = block_on(self.obtain(true))?;
            match term.run_blocking(|| body(&term)) {
                Some(result) => return result,
                None => drop(term),
            }
        }
    }

    /// Stands until this process leads. Outlasts outages of the store.
    pub(crate) async fn obtain(&self, blocking: bool) -> Result<Term, LockError> {
        let mut backoff = Backoff::new(FIRST_PAUSE, Duration::ZERO);
        loop {
            let error = match self.stand(blocking).await {
                Err(
                    error @ (LockError::Unavailable { .. }
                    | LockError::NotReplicated { .. }
                    | LockError::Lost { .. }),
                ) => error,
                stood => return stood,
            };
            backoff.failed(Trouble::Busy);
            let pause = backoff.pause();
            let name = &self.target.name;
            tracing::warn!(target: ACQUIRE, %name, %error, ?pause, "cannot stand for the lead; trying again");
            let core = self.target.client.core();
            core.sleep_until(clock::now().after(pause), name).await?;
        }
    }

    async fn stand(&self, blocking: bool) -> Result<Term, LockError> {
        proceed().await;
        let patience = Some(Patience::Queue(None));
        let taking = {
            let caller = Caller::current(blocking);
            let target = &self.target;
            target.start(&caller, &self.options, Share::LEADER, patience)?
        };
        let holding = match taking {
            Taking::Obtained(holding) => holding,
            Taking::Waiting(acquire) => Holding::new(acquire.await?),
        };
        let hold = holding.first();
        log_obtained(hold);
        // A grant that came as a message is short until the store has answered. A term begins with time to end it.
        let spare = self.rules.stop_within / 2;
        while self.rules.tells_at(hold.valid()) <= clock::now().after(spare) {
            let Some(renewed) = hold.renew() else {
                return Err(hold.lost_error());
            };
            renewed.wait().await?;
        }
        Ok(Term::begin(holding, self.target.client.core(), self.rules))
    }
}
