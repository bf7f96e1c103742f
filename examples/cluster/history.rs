//! The history of the show: the events, in the form that board, timeline and report need.

use std::time::Duration;

use crate::clock::Time;
use crate::crew::Killed;
use crate::event::{Event, What};
use crate::plan::{Fate, WORKERS};

/// All events so far.
pub(crate) struct History {
    pub(crate) start: Time,
    pub(crate) fate: Fate,
    pub(crate) workers: [Record; WORKERS],
    pub(crate) kill: Option<Kill>,
    /// `(when, worker, other worker inside)`
    meetings: Vec<(Time, usize, usize)>,
    /// `(when, token)`
    entries: Vec<(Time, u64)>,
    pub(crate) failures: Vec<String>,
    /// The length of the show, once the show is over.
    pub(crate) length: Duration,
}

/// The history of one worker.
#[derive(Default)]
pub(crate) struct Record {
    /// The calls, in order.
    pub(crate) visits: Vec<Visit>,
    pub(crate) stays: bool,
}

/// One call of the method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) called: Time,
    pub(crate) entered: Option<Time>,
    pub(crate) left: Option<Time>,
    pub(crate) token: u64,
}

/// The kill of the victim.
pub(crate) struct Kill {
    pub(crate) worker: usize,
    pub(crate) when: Killed,
    /// Whether the witness had the victim inside.
    pub(crate) inside: bool,
}

/// The state of a worker at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Away,
    /// Waits since this time.
    Waits(Time),
    Inside(Time, u64),
    Killed,
}

impl Visit {
    /// Returns how long the call waited, or has been waiting until `now`.
    pub(crate) fn waited(&self, now: Time) -> Duration {
        self.entered.unwrap_or(now).since(self.called)
    }
}

impl History {
    pub(crate) fn new(start: Time, fate: Fate) -> Self {
        Self {
            start,
            fate,
            workers: Default::default(),
            kill: None,
            meetings: Vec::new(),
            entries: Vec::new(),
            failures: Vec::new(),
            length: Duration::ZERO,
        }
    }

    pub(crate) fn add(&mut self, event: &Event) {
        let record = &mut self.workers[event.worker];
        let last = record.visits.last_mut();
        match &event.what {
            What::Calls => record.visits.push(Visit {
                called: event.at,
                entered: None,
                left: None,
                token: 0,
            }),
            What::Enters { token } => {
                if let Some(visit) = last {
                    visit.entered = Some(event.at);
                    visit.token = *token;
                }
                self.entries.push((event.at, *token));
            }
            What::Leaves => {
                if let Some(visit) = last {
                    visit.left = Some(event.at);
                }
            }
            What::Stays => record.stays = true,
            What::Meets { other } => self.meetings.push((event.at, event.worker, *other)),
            What::Fails { reason } => {
                self.failures
                    .push(format!("worker {}: {reason}", event.worker + 1));
            }
        }
    }

    pub(crate) fn state(&self, worker: usize, at: Time) -> State {
        if let Some(kill) = &self.kill
            && kill.worker == worker
            && at >= kill.when.at
        {
            return State::Killed;
        }
        let visits = &self.workers[worker].visits;
        let Some(visit) = visits.iter().rev().find(|visit| visit.called <= at) else {
            return State::Away;
        };
        match (visit.entered, visit.left) {
            (_, Some(left)) if left <= at => State::Away,
            (Some(entered), _) if entered <= at => State::Inside(entered, visit.token),
            _ => State::Waits(visit.called),
        }
    }

    /// Returns the number of meetings of two live workers. The file of a dead worker, until it is removed, is no
    /// meeting.
    pub(crate) fn overlaps(&self) -> usize {
        let real = |(at, _, whom): &&(Time, usize, usize)| match &self.kill {
            Some(kill) => !(kill.worker == *whom && *at >= kill.when.dead),
            None => true,
        };
        self.meetings.iter().filter(real).count()
    }

    /// Returns the worker that entered first after the kill, and how long after the kill.
    pub(crate) fn take_over(&self) -> Option<(usize, Duration)> {
        let kill = self.kill.as_ref()?;
        let next = |worker: usize| {
            let visits = self.workers[worker].visits.iter();
            let after = visits
                .filter_map(|visit| visit.entered)
                .find(|entered| *entered >= kill.when.at);
            after.map(|entered| (entered, worker))
        };
        let first = (0..WORKERS)
            .filter(|worker| *worker != kill.worker)
            .filter_map(next)
            .min()?;
        Some((first.1, first.0.since(kill.when.at)))
    }

    /// Returns whether each entry had a greater token than the entry before it.
    pub(crate) fn tokens_grow(&self) -> bool {
        let mut entries = self.entries.clone();
        entries.sort();
        entries.is_sorted_by(|earlier, later| earlier.1 < later.1)
    }

    /// Returns the longest wait: the worker, the length, and whether the kill was during the wait.
    pub(crate) fn longest_wait(&self) -> Option<(usize, Duration, bool)> {
        let waits = self
            .workers
            .iter()
            .enumerate()
            .flat_map(|(worker, record)| {
                record.visits.iter().filter_map(move |visit| {
                    let entered = visit.entered?;
                    let across = self.kill.as_ref().is_some_and(|kill| {
                        visit.called <= kill.when.at && kill.when.at <= entered
                    });
                    Some((worker, entered.since(visit.called), across))
                })
            });
        waits.max_by_key(|(_, waited, _)| *waited)
    }
}
