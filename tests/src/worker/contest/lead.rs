//! Stands for the lead, reports to the witness while it leads, and gives the lead up in some way, again and again.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auto_mutex::{Leader, LockError, Term};
use tokio::sync::Mutex;

use super::Contestant;
use crate::witness::{Part, Section, Sections};

struct Task {
    own: Contestant,
    sections: Sections,
    /// The number of the last term.
    last: u64,
}

/// Why a lead has ended.
enum End {
    /// The body returned an error.
    Body,
    /// The lead ended by itself, which it does not do during a contest.
    Lead(LockError),
}

impl From<LockError> for End {
    fn from(error: LockError) -> Self {
        Self::Lead(error)
    }
}

pub(super) async fn run(own: Contestant, witness: u16) {
    let seat = own.client.leader(&own.name).value(&own.who);
    let watches = own.who.ends_with("/0");
    let task = Arc::new(Mutex::new(Task {
        sections: Sections::report_to(witness, own.who.clone()),
        own,
        last: 0,
    }));
    let watching = watches.then(|| tokio::spawn(watch(seat.clone())));
    loop {
        let patience = {
            let mut task = task.lock().await;
            if task.own.is_over() && task.own.tally.turns > 0 {
                break;
            }
            task.own.patience()
        };
        let body = {
            let task = task.clone();
            async move |term: &Term| task.lock().await.term(term).await
        };
        let led = tokio::time::timeout(patience, seat.lead(body)).await;
        let mut task = task.lock().await;
        match led {
            Ok(Ok(()) | Err(End::Body)) => {}
            Ok(Err(End::Lead(error))) => {
                task.own.violation(&format!("the lead ended: {error:?}"));
            }
            Err(_) => task.own.tally.cancelled += 1,
        }
        task.own.pause().await;
    }
    if let Some(watching) = watching {
        watching.abort();
    }
    let mut task = task.lock().await;
    task.sections.flush();
    task.own.report();
}

impl Task {
    async fn term(&mut self, term: &Term) -> Result<(), End> {
        self.own.tally.turns += 1;
        if term.number() <= self.last {
            self.own.violation("the number of the term did not grow");
        }
        self.last = term.number();
        let stay = match self.own.stay > 0 && self.own.seed.below(16) == 0 {
            true => self.own.seed.below(self.own.stay),
            false => 0,
        };
        let until = Instant::now() + Duration::from_millis(stay);
        loop {
            self.section(term).await;
            if self.own.is_over() {
                return Ok(());
            }
            if Instant::now() >= until {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        match self.own.seed.below(4) {
            0 => Ok(()),
            1 => Err(End::Body),
            _ => {
                term.resign();
                // Dropped here.
                pending().await
            }
        }
    }

    async fn section(&mut self, term: &Term) {
        let part = Part::all(term.name(), term.number());
        let section = self.sections.enter(vec![part]);
        let believed = term.check().is_ok();
        if believed && !section.taken {
            self.own.refused("a leader", &section.entered);
        }
        let pause = Duration::from_micros(self.own.seed.below(2000));
        let mut inside = Inside {
            own: &self.own,
            sections: &mut self.sections,
            section: Some(section),
            believed,
        };
        tokio::time::sleep(pause).await;
        inside.leave(Some(term));
    }
}

/// A section that has been entered. If the body is told to end, this is dropped.
struct Inside<'a> {
    own: &'a Contestant,
    sections: &'a mut Sections,
    section: Option<Section>,
    believed: bool,
}

impl Inside<'_> {
    fn leave(&mut self, term: Option<&Term>) {
        let Some(section) = self.section.take() else {
            return;
        };
        let (taken, left) = self.sections.leave(&section);
        if term.is_some_and(|term| term.check().is_ok()) {
            if !taken {
                self.own.refused("the last write of a leader", &left);
            }
            self.sections.testify(&section, &left);
            return;
        }
        self.own.lost("term");
        if self.believed {
            self.sections.testify_entry(&section);
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.leave(None);
    }
}

/// Watches who leads. The terms that it is told of grow.
async fn watch(seat: Leader) {
    let mut watch = seat.watch();
    let mut last = 0;
    loop {
        match watch.changed().await {
            Ok(Some(leader)) if leader.term <= last => {
                super::say(&format!(
                    "violation told of term {} after {last}",
                    leader.term
                ));
            }
            Ok(leader) => last = leader.map_or(last, |leader| leader.term),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
