//! [`Seat`]: stands for the lead until the body ends it.

use std::time::Duration;

use auto_mutex_protocol::leading::{self, Failed, Refused, Rules};

use super::Overrun;
use super::term::{Term, count};
use crate::base::clock::{self, Instant};
use crate::base::duration::FOREVER;
use crate::base::error::LockError;
use crate::base::sync::Mutex;
use crate::base::wait::{block_on, lock, proceed};
use crate::caller::Caller;
use crate::locks::handle::{AcquireTarget, Holding, Options, Taking, log_obtained};
use crate::observe::ACQUIRE;
use crate::observer::{Metric, SITE};
use crate::queue::{ClientCore, Patience};
use crate::store::{Share, jittered, meta};

const LONGEST_VALUE: usize = 1024;

/// The options of a leader that other locks lack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leading {
    pub(crate) value: String,
    pub(crate) overrun: Overrun,
    /// Whether an error of the body ends its term only, and not the call.
    pub(crate) again: bool,
}

pub(crate) struct Seat<'a> {
    target: AcquireTarget<'a>,
    options: Options,
    rules: Rules,
    again: bool,
    rest: Mutex<Rest>,
}

/// The pauses after errors of the body.
#[derive(Default)]
struct Rest {
    errors: leading::Seat,
    until: Option<Instant>,
    began: Option<Instant>,
}

/// How often a lease is renewed in vain before a warning says so.
const LATE_RENEWALS: u32 = 3;

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
        count_standing(core, options.label(), 1);
        target.meta = meta::leading(&target.meta, &leading.value);
        let tenure = &mut options.lengths.tenure;
        (tenure.expire, tenure.retain) = (Some(FOREVER), Some(Duration::ZERO));
        Ok(Self {
            target,
            options,
            rules,
            again: leading.again,
            rest: Mutex::default(),
        })
    }

    pub(crate) async fn lead<T, E: From<LockError>>(
        &self,
        mut body: impl AsyncFnMut(&Term) -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            let term = self.obtain(false).await?;
            match term.run(body(&term)).await {
                Some(result) if !self.stands_again(result.is_ok()) => return result,
                _ => drop(term),
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
                Some(result) if !self.stands_again(result.is_ok()) => return result,
                _ => drop(term),
            }
        }
    }

    /// Whether the seat stands again after what its body has returned: after an error, if the caller wants that, and
    /// after a pause that grows unless a term lasts.
    pub(crate) fn stands_again(&self, is_ok: bool) -> bool {
        if is_ok || !self.again {
            return false;
        }
        let (limits, now) = (self.target.client.core().limits, clock::now());
        let mut rest = lock(&self.rest);
        let lasted = rest.began.map(|began| began.until(now));
        if lasted.is_some_and(|lasted| lasted > limits.longest_stand_again) {
            rest.errors = leading::Seat::default();
        }
        let pause = rest.errors.failed(Failed::Lost, limits).map(jittered);
        rest.until = pause.map(|pause| now.after(pause));
        let name = &self.target.name;
        tracing::warn!(target: ACQUIRE, %name, ?pause, "the body of a leader has returned an error; standing again");
        true
    }

    /// Stands until this process leads. Outlasts outages of the store.
    pub(crate) async fn obtain(&self, blocking: bool) -> Result<Term, LockError> {
        let mut seat = leading::Seat::default();
        let core = self.target.client.core();
        let rests = lock(&self.rest).until.take();
        if let Some(until) = rests {
            core.sleep_until(until, &self.target.name).await?;
        }
        loop {
            let error = match self.stand(blocking).await {
                Ok(term) => {
                    lock(&self.rest).began = Some(clock::now());
                    return Ok(term);
                }
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
        let mut renewals = 0;
        while !self.rules.may_begin(hold.valid(), clock::now()) {
            renewals += 1;
            if renewals == LATE_RENEWALS {
                let (name, lease) = (
                    &self.target.name,
                    self.target.client.core().settings().lease(),
                );
                tracing::warn!(target: ACQUIRE, %name, ?lease, "cannot lead: the store answers so slowly that the lease is over before its answer arrives; set a longer lease");
            }
            let Some(renewed) = hold.renew() else {
                return Err(hold.lost_error());
            };
            renewed.wait().await?;
        }
        Ok(Term::begin(holding, self.rules))
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        count_standing(self.target.client.core(), self.options.label(), -1);
    }
}

/// Reports that a call stands (1) or no longer stands (-1) for the seat. A seat for which nobody stands any more
/// exports 0.
fn count_standing(core: &ClientCore, label: &'static str, change: i64) {
    if let Some(observer) = core.observer() {
        observer.add(Metric::LeaderStanding, &[(SITE, label)], change);
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
            "it is more than half of the lease, which leaves too little time for renewal: make it shorter, or `Config::lease` longer"
        }
        Refused::StopsTooSoon => "with less than 100 ms, `Overrun::Abort` would abort every body",
    }
}
