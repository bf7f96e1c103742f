//! [`Seat`]: stands for the lead until the body ends it.

use std::time::Duration;

use auto_mutex_protocol::leading::{self, Failed, Refused, Rules};

use super::Overrun;
use super::term::{Term, count};
use crate::base::clock;
use crate::base::duration::FOREVER;
use crate::base::error::LockError;
use crate::base::wait::{block_on, proceed};
use crate::caller::Caller;
use crate::locks::handle::{AcquireTarget, Holding, Options, Taking, log_obtained};
use crate::observe::ACQUIRE;
use crate::queue::Patience;
use crate::store::{Share, jittered, meta};

const LONGEST_VALUE: usize = 1024;

/// The options of a leader that other locks lack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leading {
    pub(crate) value: String,
    pub(crate) overrun: Overrun,
}

pub(crate) struct Seat<'a> {
    target: AcquireTarget<'a>,
    options: Options,
    rules: Rules,
}

impl<'a> Seat<'a> {
    pub(crate) fn new(
        mut target: AcquireTarget<'a>,
        mut options: Options,
        leading: &Leading,
    ) -> Result<Self, LockError> {
        let asked = leading::Options {
            stop_within: options.lengths.stop_within,
            progress: options.lengths.progress,
            aborts: leading.overrun == Overrun::Abort,
        };
        let core = target.client.core();
        let rules = Rules::new(asked, core.settings().lease(), core.limits);
        let rules = rules.map_err(|refused| LockError::invalid("stop_within", reason(refused)))?;
        if leading.value.len() > LONGEST_VALUE {
            return Err(LockError::invalid("value", "it is longer than 1,024 bytes"));
        }
        count(core, options.label(), 0, 0);
        target.meta = meta::leading(&target.meta, &leading.value);
        let tenure = &mut options.lengths.tenure;
        (tenure.expire, tenure.retain) = (Some(FOREVER), Some(Duration::ZERO));
        Ok(Self {
            target,
            options,
            rules,
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
        let mut seat = leading::Seat::default();
        let core = self.target.client.core();
        loop {
            let error = match self.stand(blocking).await {
                Ok(term) => return Ok(term),
                Err(error) => error,
            };
            let Some(pause) = seat.failed(failed(&error), core.limits) else {
                return Err(error);
            };
            let (name, pause) = (&self.target.name, jittered(pause));
            tracing::warn!(target: ACQUIRE, %name, %error, ?pause, "cannot stand for the lead; trying again");
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
        while !self.rules.may_begin(hold.valid(), clock::now()) {
            let Some(renewed) = hold.renew() else {
                return Err(hold.lost_error());
            };
            renewed.wait().await?;
        }
        Ok(Term::begin(holding, self.rules))
    }
}

fn failed(error: &LockError) -> Failed {
    match error {
        LockError::Unavailable { .. } => Failed::Unavailable,
        LockError::NotReplicated { .. } => Failed::NotReplicated,
        LockError::Lost { .. } => Failed::Lost,
        _ => Failed::ForGood,
    }
}

fn reason(refused: Refused) -> &'static str {
    match refused {
        Refused::StopsTooLate => {
            "it is more than half of the lease, which must be renewed in the rest: make it shorter, or `Config::lease` longer"
        }
        Refused::StopsTooSoon => "with less than 100 ms, `Overrun::Abort` would abort every body",
    }
}
