//! [`Leader`]: one process of the cluster leads at a time. A thin layer over the mutex: [`seat`] stands for the lead
//! again and again, [`term`] is one time in office, and [`watch`] tells who leads.

mod seat;
mod term;
mod watch;

use std::sync::Arc;

pub(crate) use self::seat::{Leading, Seat};
pub use self::term::Term;
pub use self::watch::{LeaderInfo, LeaderWatch};
use crate::base::duration::ToDuration;
use crate::base::error::{LockError, LossCause};
use crate::base::wait::block_on;
use crate::caller::Caller;
use crate::locks::client::Client;
use crate::locks::handle::Handle;
use crate::observe::SEAT;
use crate::queue::Lead;

/// A seat that one process of the cluster has at a time, for as long as its body runs: a leader.
///
/// [`lead`](Self::lead) stands for the lead, runs its body while this process leads, and stands again after a loss or
/// an outage. Standbys wait in the queue, without polling: the next one begins as soon as the leader ends, or within
/// one lease (10 s) if the leader's process dies.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::{Client, LockError, Term};
///
/// let client = Client::connect("memory://")?;
/// let seat = client.leader("scheduler").value("10.0.0.5:9000").stop_within("2s");
/// seat.lead(async |term: &Term| {
///     println!("leading, term {}", term.number());
///     for job in ["a", "b"] {
///         term.check()?; // not needed in async code that awaits: a loss ends it there
///         println!("job {job}");
///     }
///     Ok::<_, LockError>(()) // ends the lead, and the call
/// })
/// .await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # When a term ends
///
/// | what happens | what follows |
/// |---|---|
/// | the body returns `Ok`, or `Err` while it leads | the seat is free, and `lead` returns it. With [`again_on_error`](Self::again_on_error), it stands again after an `Err` |
/// | the lock is lost; or its lease was not renewed, and only [`stop_within`](Self::stop_within) is left of it | the body is told to end; then `lead` stands again |
/// | nobody calls [`Term::progress`] for [`progress`](Self::progress) | the same |
/// | [`resign`](Self::resign) or [`Term::resign`] is called | the same, at the end of the queue |
/// | the client drains, also after SIGTERM | the body is told to end; then `lead` returns [`LockError::ShutDown`] |
///
/// "Told to end" means: an async body is dropped at its next await. A sync body goes on until it notices, by
/// [`Term::check`]. In both cases the seat is given on only when the body has ended, as long as the lease can be
/// renewed.
///
/// If the store can't be reached, `lead` logs a warning and tries again, with growing pauses.
///
/// # Names
///
/// A seat is a mutex that never expires. [`client.mutex(name)`](Client::mutex) with the same name is the same lock.
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it leads"]
pub struct Leader {
    handle: Handle,
    leading: Leading,
}

/// What happens to the body of a [`Leader`] that was told to end and still runs after
/// [`stop_within`](Leader::stop_within).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overrun {
    /// It is logged as an error. The next leader may begin beside it if the lease can't be renewed.
    #[default]
    Log,
    /// The process is aborted, before the next leader begins: a twentieth of the lease earlier, as far as the processor
    /// lets it, so the body is told that much earlier, too. (Only a process that was suspended for longer than its
    /// lease is aborted later: as soon as it runs again.)
    Abort,
}

impl Client {
    /// The seat of the leader called `name`, in this client's namespace: see [`Client::mutex`] for names.
    #[track_caller]
    pub fn leader(&self, name: impl Into<String>) -> Leader {
        Leader::of(Handle::new(Some(self.clone()), name))
    }
}

impl Leader {
    /// The seat of the leader called `name`, of the client in force where it is used: see [`Client::leader`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        Self::of(Handle::new(None, name))
    }

    fn of(mut handle: Handle) -> Self {
        handle.options.label = Some(SEAT);
        Self {
            handle,
            leading: Leading::default(),
        }
    }

    /// A text for those who look for the leader, at most 1,024 bytes: its address, for example. [`LeaderInfo::value`]
    /// and the command `auto-mutex leaders` show it.
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.leading.value = value.into();
        self
    }

    /// How long the body may take to end after it was told to. A number counts as seconds. The default is a fifth of
    /// the lease, and half of the lease is the most.
    ///
    /// If the lease can't be renewed, the body is told when only this time is left of the lease, so that it can end
    /// before another process leads. A body that takes longer is an [overrun](Self::on_overrun).
    #[allow(private_bounds)]
    pub fn stop_within(mut self, time: impl ToDuration) -> Self {
        self.handle.options.set("stop_within", time);
        self
    }

    /// Ends the term if nobody calls [`Term::progress`] for this time, so that a process that hangs does not lead for
    /// ever. A number counts as seconds. Off by default.
    ///
    /// If the body still runs after another [`stop_within`](Self::stop_within), which is an
    /// [overrun](Self::on_overrun), the seat is given on without waiting for it. The same holds for a body that hangs
    /// after its term ended for another reason; without this option, the seat waits for such a body.
    #[allow(private_bounds)]
    pub fn progress(mut self, time: impl ToDuration) -> Self {
        self.handle.options.set("progress", time);
        self
    }

    /// What happens to a body that was told to end and does not, for [`stop_within`](Self::stop_within).
    pub fn on_overrun(mut self, overrun: Overrun) -> Self {
        self.leading.overrun = overrun;
        self
    }

    /// An error of the body ends its term only: after a pause of up to four seconds, `lead` stands again, behind all
    /// who wait. Without this option, `lead` returns the error, and when that has happened in all processes, nobody
    /// stands any more.
    pub fn again_on_error(mut self) -> Self {
        self.leading.again = true;
        self
    }

    /// Sets the label of this seat in metrics; the default is `leader`. See
    /// [`Mutex::metrics_label`](crate::Mutex::metrics_label).
    pub fn metrics_label(mut self, label: &'static str) -> Self {
        self.handle.options.label = Some(label);
        self
    }

    /// Stands for the lead, and runs `body` while this process leads. Stands again after each term that `body` did not
    /// end itself: see [the table](Leader#when-a-term-ends). Returns what `body` returns.
    ///
    /// Write `async |term: &Term| …`. The body may run several times. If the future is to be spawned, write `async move
    /// |term: &Term| …` and capture no references (but an `Arc`): the compiler can't see yet that other ones are
    /// `Send`. An annotated function has no such limit.
    ///
    /// # Errors
    ///
    /// That of `body`, if it returned it while it led. An error that it returns after its term was over counts as the
    /// end of the term. [`LockError::ShutDown`] when the client drains or was shut down; and the errors of an unusable
    /// client, name or option.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the queue, or drops `body` and frees the seat.
    pub async fn lead<T, E: From<LockError>>(
        &self,
        body: impl AsyncFnMut(&Term) -> Result<T, E>,
    ) -> Result<T, E> {
        self.seat(false)?.lead(body).await
    }

    /// Like [`lead`](Self::lead), but blocks the thread. `body` runs on it, and learns from [`Term::check`] that it has
    /// to end.
    ///
    /// # Errors
    ///
    /// Those of [`lead`](Self::lead).
    pub fn blocking_lead<T, E: From<LockError>>(
        &self,
        body: impl FnMut(&Term) -> Result<T, E>,
    ) -> Result<T, E> {
        self.seat(true)?.blocking_lead(body)
    }

    fn seat(&self, blocking: bool) -> Result<Seat<'_>, LockError> {
        let target = self.handle.resolve(&Caller::current(blocking))?;
        Seat::new(target, *self.handle.options, &self.leading)
    }

    /// If this process leads, tells the body to end, and waits until it has ended and the seat is free. `lead` then
    /// stands again, behind all who wait. Returns whether this process led.
    ///
    /// Any handle with the client and the name will do, also for the seat of an annotated function. Inside of the body
    /// itself, it doesn't wait for it: as with [`Term::resign`], the body is told to end.
    ///
    /// # Errors
    ///
    /// Those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The body is told to end when the future is first polled, whether or not it completes.
    pub async fn resign(&self) -> Result<bool, LockError> {
        let (terms, own) = {
            let caller = Caller::current(false);
            let target = self.handle.resolve(&caller)?;
            let own: Vec<_> = caller
                .holds()
                .map(Arc::as_ptr)
                .map(<*const _>::addr)
                .collect();
            (target.client.core().terms(&target.name), own)
        };
        for lead in &terms {
            lead.tell(LossCause::Released);
        }
        let is_own = |lead: &Arc<Lead>| own.contains(&Arc::as_ptr(lead.hold()).addr());
        for lead in terms.iter().filter(|lead| !is_own(lead)) {
            lead.ended().await;
        }
        Ok(!terms.is_empty())
    }

    /// Like [`resign`](Self::resign), but blocks the thread. The errors are the same.
    pub fn blocking_resign(&self) -> Result<bool, LockError> {
        block_on(self.resign())
    }

    /// Asks the store who leads now.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn current(&self) -> Result<Option<LeaderInfo>, LockError> {
        Ok(LeaderInfo::of(&self.handle.inspect().await?))
    }

    /// Like [`current`](Self::current), but blocks the thread. The errors are the same.
    pub fn blocking_current(&self) -> Result<Option<LeaderInfo>, LockError> {
        block_on(self.current())
    }

    /// Watches who leads. Whoever watches need not stand, and a standby may watch, too.
    pub fn watch(&self) -> LeaderWatch {
        LeaderWatch::of(self.handle.clone())
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
