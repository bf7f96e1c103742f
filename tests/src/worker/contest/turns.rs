//! Takes a lock, reports to the witness while it holds, and releases the lock, again and again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{Contestant, Kind};
use crate::witness::Sections;
use crate::worker::guards::Held;

struct Task {
    own: Contestant,
    kind: Kind,
    sections: Sections,
    /// The last token of each name.
    tokens: HashMap<String, u64>,
}

pub(super) async fn run(own: Contestant, witness: u16, kind: Kind) {
    let sections = Sections::report_to(witness, own.who.clone());
    let mut task = Task {
        own,
        kind,
        sections,
        tokens: HashMap::new(),
    };
    while !task.own.is_over() || task.own.tally.turns == 0 {
        if let Kind::Kept { names } = kind {
            task.own.go_to_a_name(names).await;
        }
        task.turn().await;
        task.own.pause().await;
    }
    task.sections.flush();
    task.own.report();
}

impl Task {
    async fn turn(&mut self) {
        let asked = Instant::now();
        let own = &mut self.own;
        let patience = own.patience();
        let take = self.kind.take(&own.client, &own.name, &mut own.seed);
        match tokio::time::timeout(patience, take).await {
            Ok(Ok(Some(held))) => {
                own.tally.turns += 1;
                own.tally.longest = own.tally.longest.max(asked.elapsed());
                self.grows(&held);
                self.inside(held).await;
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => own.trouble(error).await,
            Err(_) => own.tally.cancelled += 1,
        }
    }

    fn grows(&mut self, held: &Held) {
        for part in self.kind.parts(held) {
            let last = self.tokens.entry(part.name).or_default();
            if part.token <= *last {
                self.own.violation("the token did not grow");
            }
            *last = part.token;
        }
    }

    async fn inside(&mut self, held: Held) {
        self.section(&held).await;
        let own = &mut self.own;
        let stay = match self.kind {
            Kind::Long { seconds } => 300 + own.seed.below(seconds * 1000),
            _ if own.stay > 0 && own.seed.below(32) == 0 => own.seed.below(own.stay),
            _ => 0,
        };
        if stay > 0 {
            // Many short sections give evidence for the whole time.
            let until = Instant::now() + Duration::from_millis(stay);
            while Instant::now() < until && !self.own.is_over() && held.check().is_ok() {
                self.section(&held).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let held = match held {
            Held::Write(guard) if self.own.seed.below(4) == 0 => match guard.downgrade().await {
                Ok(guard) => {
                    let held = Held::Read(guard);
                    self.section(&held).await;
                    held
                }
                Err(error) => return self.own.trouble(error).await,
            },
            held => held,
        };
        if self.own.seed.below(4) == 0 {
            // After trouble with the store, any result is correct. The call only has to return.
            let _ = held.unlock().await;
        }
    }

    async fn section(&mut self, held: &Held) {
        let own = &mut self.own;
        let section = self.sections.enter(self.kind.parts(held));
        let believed = held.check().is_ok();
        if believed && !section.taken {
            own.refused("a holder", &section.entered);
        }
        if own.seed.below(2) == 0 {
            tokio::time::sleep(Duration::from_micros(own.seed.below(2000))).await;
        }
        let (taken, left) = self.sections.leave(&section);
        match held.check() {
            Ok(()) if !taken => {
                own.refused("the last write of a holder", &left);
            }
            Ok(()) => self.sections.testify(&section, &left),
            Err(error) => {
                own.trouble(error).await;
                if believed {
                    self.sections.testify_entry(&section);
                }
            }
        }
    }
}
