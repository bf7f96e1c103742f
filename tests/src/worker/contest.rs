//! A contest: many tasks of many processes on one name, under the eyes of a witness.
//!
//! Lines out: `begun`; `violation …` for what must never be; at the end `task WHO grants=… longest_ms=…
//! lost=… unavailable=… timeouts=…` for each task, then `done`.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError, MutexGuard};

use super::serve::say;
use crate::seed::Seed;
use crate::witness::Sections;

/// How long a task waits before it calls itself starved.
const STARVED: Duration = Duration::from_secs(30);

pub(super) struct Contest {
    pub(super) name: String,
    pub(super) duration: Duration,
    pub(super) tasks: u64,
    pub(super) witness: u16,
    pub(super) seed: u64,
}

impl Contest {
    pub(super) async fn run(self, client: &Client) {
        say("begun");
        let until = Instant::now() + self.duration;
        let tasks: Vec<_> = (0..self.tasks)
            .map(|number| {
                let who = format!("{}/{number}", std::process::id());
                let task = Task {
                    sections: Sections::report_to(self.witness, who.clone()),
                    who,
                    seed: Seed::new(self.seed.wrapping_add(number)),
                    tally: Tally::default(),
                };
                tokio::spawn(task.run(client.clone(), self.name.clone(), until))
            })
            .collect();
        for task in tasks {
            if let Err(error) = task.await {
                say(&format!("violation a task panicked: {error}"));
            }
        }
        say("done");
    }
}

#[derive(Debug, Default)]
struct Tally {
    grants: u64,
    longest: Duration,
    lost: u64,
    unavailable: u64,
    timeouts: u64,
}

struct Task {
    who: String,
    sections: Sections,
    seed: Seed,
    tally: Tally,
}

impl Task {
    async fn run(mut self, client: Client, name: String, until: Instant) {
        let mut last_token = 0;
        while Instant::now() < until {
            let asked = Instant::now();
            match client.mutex(&name).block(STARVED).lock().await {
                Ok(guard) => {
                    self.tally.grants += 1;
                    self.tally.longest = self.tally.longest.max(asked.elapsed());
                    if guard.fencing_token() <= last_token {
                        self.violation("the token did not grow");
                    }
                    last_token = guard.fencing_token();
                    self.inside(guard).await;
                }
                Err(LockError::Unavailable { .. }) => {
                    self.tally.unavailable += 1;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(LockError::Timeout { .. }) => self.tally.timeouts += 1,
                Err(error) => self.violation(&format!("{error:?}")),
            }
        }
        self.sections.flush();
        let Tally {
            grants,
            longest,
            lost,
            unavailable,
            timeouts,
        } = self.tally;
        say(&format!(
            "task {} grants={grants} longest_ms={} lost={lost} unavailable={unavailable} timeouts={timeouts}",
            self.who,
            longest.as_millis(),
        ));
    }

    async fn inside(&mut self, guard: MutexGuard) {
        let section = self.sections.enter(guard.fencing_token());
        let believed = guard.check().is_ok();
        if believed && !section.taken {
            self.violation("the register refused a holder that still believes");
        }
        if self.seed.below(2) == 0 {
            tokio::time::sleep(Duration::from_micros(self.seed.below(2000))).await;
        }
        let (taken, left) = self.sections.leave(&section);
        match guard.check() {
            Ok(()) if !taken => {
                self.violation("the register refused the last write of a holder that believes")
            }
            Ok(()) => self.sections.testify(&section, &left),
            Err(_) if believed => {
                self.tally.lost += 1;
                self.sections.testify_entry(&section);
            }
            Err(_) => self.tally.lost += 1,
        }
        if self.seed.below(4) == 0 {
            // Either answer is right after trouble with the store; that it comes is what matters.
            let _ = guard.unlock().await;
        }
    }

    fn violation(&self, what: &str) {
        say(&format!("violation {} {what}", self.who));
    }
}
