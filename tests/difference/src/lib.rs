//! Compares an engine with the rules of the locks (`auto_mutex_seam::store::State`): random operations at the same
//! times must give the same replies, messages and states. A judge that uses neither side looks for faults that both
//! share.
//!
//! An engine implements [`Subject`]. `AUTO_MUTEX_RUNS=n` makes n runs of 250 operations each. A run that fails prints
//! how to repeat it.

mod both;
mod judge;
mod notes;
mod ops;
mod play;

use std::collections::HashSet;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use auto_mutex_seam::store::{MemberId, Message, Name, NameRecord, Op, Reply};

pub use self::both::apply as apply_rules;
pub use self::play::{START, run, run_by_judge};

/// A server of an engine, whose clock the comparison sets. It serves one run after the other.
pub trait Subject {
    /// What [`keep`](Self::keep) keeps of a name.
    type Kept;

    /// Forgets all names.
    fn reset(&mut self);

    /// From now on, the member gets its messages, or does not get them.
    fn listen(&mut self, member: MemberId, listens: bool);

    /// Executes an operation.
    fn apply(&mut self, request: &Request<'_>) -> Outcome;

    /// Executes a release, and then an acquire of the same member, as one. Returns the reply to the release, and the
    /// outcome of the acquire with the messages of both.
    fn pair(&mut self, release: &Request<'_>, acquire: &Request<'_>) -> (Reply, Outcome) {
        let first = self.apply(release);
        let mut last = self.apply(acquire);
        last.messages.splice(0..0, first.messages);
        (first.reply, last)
    }

    /// Keeps the state of a name, for [`restore`](Self::restore).
    fn keep(&mut self, name: &Name) -> Self::Kept;

    /// Loses the state of a name.
    fn lose(&mut self, name: &Name);

    /// Returns to an earlier state of a name.
    fn restore(&mut self, name: &Name, kept: &Self::Kept);

    /// Fails if more is left of a name than it needs. Called at the end of a run, when nothing but its token is in use.
    fn check_rest(&mut self, _name: &Name, _token: u64) {}
}

/// An operation, and when and for whom it is executed.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The store's time, in microseconds.
    pub now: u64,
    /// Nothing is granted before this time.
    pub opens: u64,
    /// The name.
    pub name: &'a Name,
    /// Who asks.
    pub member: MemberId,
    /// The operation.
    pub op: &'a Op,
    /// Whether an engine with several representations of a name should first choose the one for crowded names. This
    /// must not change the outcome.
    pub spread: bool,
}

/// The outcome of an operation.
#[derive(Debug)]
pub struct Outcome {
    /// The reply.
    pub reply: Reply,
    /// The messages, in order.
    pub messages: Vec<(MemberId, Message)>,
    /// The state after the operation.
    pub info: NameRecord,
    /// The representation of the name before the operation, if the engine has several.
    pub form: String,
}

impl Outcome {
    /// Removes what may legitimately differ.
    fn comparable(mut self) -> Self {
        blur(&mut self.info);
        if let Reply::Info(info) = &mut self.reply {
            blur(info);
        }
        // Holders get their messages first, and in no particular order.
        self.messages
            .sort_by_cached_key(|(member, message)| match message {
                Message::Lost { .. } => format!("{member} {message:?}"),
                Message::Grant { .. }
                | Message::Near { .. }
                | Message::Ask { .. }
                | Message::Recall { .. }
                | Message::Probe { .. } => "the rest".to_owned(),
            });
        self
    }
}

/// Removes the waiters' places. A place is a time, and of two tickets in the same microsecond, one gets the next.
/// Scripts forget the place of a sole holder. Places may therefore differ by a microsecond, or by more after the clock
/// was stepped back, but not in order.
fn blur(info: &mut NameRecord) {
    for waiter in &mut info.waiters {
        assert_ne!(waiter.since, 0);
        waiter.since = 0;
    }
}

/// The number of runs, of 250 operations each, if `AUTO_MUTEX_RUNS` is not set.
const RUNS: u64 = 30;
/// So many runs meet every kind of outcome.
const MANY: u64 = 900;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

/// Compares the subjects made by `new` with the rules, on all processors. `expected` are kinds of outcomes, besides
/// `USUAL`, that some of many runs must meet; otherwise they have shown little.
pub fn compare<S: Subject>(new: impl Fn() -> S + Sync, expected: &[&str]) {
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        return run(&mut new(), seed, &mut HashSet::new());
    }
    let runs = number("AUTO_MUTEX_RUNS").unwrap_or(RUNS);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (next, failed) = (AtomicU64::new(1), AtomicBool::new(false));
    let work = || {
        let failure = Failure(&failed);
        let mut subject = new();
        let mut seen = HashSet::new();
        while !failure.0.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > runs {
                break;
            }
            run(&mut subject, seed, &mut seen);
        }
        seen
    };
    let seen: HashSet<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let seen = threads.into_iter().map(|thread| thread.join());
        seen.flat_map(|seen| seen.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    if runs < MANY {
        return;
    }
    let all = USUAL.iter().chain(expected);
    let missing: Vec<_> = all.filter(|kind| !seen.contains(**kind)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Ends the runs of the other threads if this one panics.
struct Failure<'a>(&'a AtomicBool);

impl Drop for Failure<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// The kinds of outcomes that the runs meet with every engine.
const USUAL: &[&str] = &[
    "Acquire Busy",
    "Acquire Granted",
    "Acquire Granted of a signal",
    "Acquire Kept",
    "Acquire Mismatch",
    "Acquire Queued",
    "Acquire Refused",
    "Acquire TooMany",
    "Inspect Info",
    "Acquire Busy, closed",
    "Acquire Kept, closed",
    "Acquire Granted, closed",
    "Acquire Mismatch, closed",
    "Acquire Queued, closed",
    "Adopt Busy, closed",
    "Adopt Gone",
    "Adopt Gone, closed",
    "Adopt Granted",
    "Adopt Granted of a signal",
    "Adopt Queued",
    "Adopt Refused",
    "Adopt Granted, closed",
    "Delete Count",
    "Delete Count nobody",
    "Delete InUse",
    "Force Count",
    "Force Count, closed",
    "Raise Gone",
    "Raise Granted",
    "Release Cancelled",
    "Release Gone",
    "Release Released",
    "Release Released, closed",
    "Signal All Refused",
    "Signal All Count",
    "Signal All Count nobody",
    "Signal One Refused",
    "Signal One Count",
    "Signal One Count nobody",
    "Signal Token Refused",
    "Signal Token Count",
    "Signal Token Count, closed",
    "Touch Gone",
    "Touch Granted",
    "Touch Granted of a signal",
    "Touch Granted, closed",
    "Touch Queued",
    "Touch Queued, closed",
    "a downgrade",
    "a kept lock in use",
    "a kept lock out of use",
    "as many grants as one operation makes",
    "a late Acquire Granted",
    "a late Acquire Queued",
    "a late Acquire Refused",
    "a late Adopt Gone",
    "a late Release Gone",
    "a late Release Released",
    "a late Signal Token Refused",
    "a late Touch Gone",
    "a late Touch Granted",
    "a loss of all data",
    "a return to older data",
    "pair Released Busy",
    "pair Released Granted",
    "pair Released Queued",
    "told Grant",
    "told Grant of a signal",
    "told Lost",
    "told Near",
    "told Recall",
];

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use auto_mutex_seam::store::State;

    use super::*;

    /// The rules themselves.
    #[derive(Default)]
    struct Same {
        names: HashMap<Name, State>,
        listening: HashSet<MemberId>,
    }

    impl Subject for Same {
        type Kept = State;

        fn reset(&mut self) {
            *self = Self::default();
        }

        fn listen(&mut self, member: MemberId, listens: bool) {
            match listens {
                true => self.listening.insert(member),
                false => self.listening.remove(&member),
            };
        }

        fn apply(&mut self, request: &Request<'_>) -> Outcome {
            let state = self.names.entry(request.name.clone()).or_default();
            both::apply(state, &self.listening, request)
        }

        fn keep(&mut self, name: &Name) -> State {
            self.names.get(name).cloned().unwrap_or_default()
        }

        fn lose(&mut self, name: &Name) {
            self.names.remove(name);
        }

        fn restore(&mut self, name: &Name, kept: &State) {
            self.names.insert(name.clone(), kept.clone());
        }
    }

    #[test]
    fn the_rules_do_what_they_say() {
        compare(Same::default, &[]);
    }
}
