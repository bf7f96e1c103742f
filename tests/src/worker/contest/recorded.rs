//! Takes a lock and releases it, again and again, and records every call and answer.

use std::path::Path;
use std::time::Duration;

use super::{Contestant, Kind, crossed};
use crate::history::{Cell, Recorder, What, now};
use crate::witness::Part;
use crate::worker::guards::Held;

pub(super) struct Task {
    pub(super) own: Contestant,
    kind: Kind,
    recorder: Recorder,
    cell: Cell,
}

pub(super) async fn run(own: Contestant, witness: u16, kind: Kind, file: &Path) {
    let mut task = Task {
        kind,
        recorder: Recorder::open(file, own.who.clone()),
        cell: Cell::at(witness),
        own,
    };
    if let Kind::Crossed { names } = kind {
        let recorder = Recorder::open(file, format!("{}/outer", task.own.who));
        return crossed::run(task, names, recorder).await;
    }
    while !task.own.is_over() || task.own.tally.turns == 0 {
        if let Kind::Kept { names } = kind {
            task.own.go_to_a_name(names).await;
        }
        task.turn().await;
    }
    task.own.report();
}

impl Task {
    pub(super) async fn turn(&mut self) {
        let own = &mut self.own;
        let patience = own.patience();
        self.recorder.note(now(), What::Ask);
        let take = self.kind.take(&own.client, &own.name, &mut own.seed);
        let taken = tokio::time::timeout(patience, take).await;
        let at = now();
        match taken {
            Ok(Ok(Some(held))) => {
                self.own.tally.turns += 1;
                let part = self.part(&held);
                let (name, token) = (part.name.clone(), part.token);
                let got = What::Got {
                    name,
                    token,
                    units: part.units,
                    capacity: part.capacity,
                };
                self.recorder.note(at, got);
                return self.inside(held, &part).await;
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => self.own.trouble(error).await,
            Err(_) => self.own.tally.cancelled += 1,
        }
        self.recorder.note(at, What::None);
    }

    fn part(&self, held: &Held) -> Part {
        let mut parts = self.kind.parts(held);
        parts.pop().expect("a lock of one name")
    }

    async fn inside(&mut self, held: Held, part: &Part) {
        self.section(&held, part).await;
        // Some holds last for several sections.
        while self.own.seed.below(3) == 0 && held.check().is_ok() {
            self.section(&held, part).await;
        }
        let held = match held {
            Held::Write(guard) if self.own.seed.below(4) == 0 => {
                self.recorder.note(now(), What::Shrink(1));
                match guard.downgrade().await {
                    Ok(guard) => {
                        self.recorder.note(now(), What::Shrunk);
                        let held = Held::Read(guard);
                        self.sure(&held);
                        held
                    }
                    Err(error) => return self.own.trouble(error).await,
                }
            }
            held => held,
        };
        self.recorder.note(now(), What::Leave);
        if self.own.seed.below(2) == 0
            && let Ok(was_held) = held.unlock().await
        {
            self.recorder.note(now(), What::Left(was_held));
        }
    }

    async fn section(&mut self, held: &Held, part: &Part) {
        self.sure(held);
        if part.units == part.capacity {
            self.update(part).await;
        } else {
            self.pause().await;
        }
        self.sure(held);
    }

    /// Records that the guard confirms the lock. The time is read before asking the guard, so the lock was held at that
    /// time.
    fn sure(&mut self, held: &Held) {
        let at = now();
        if held.check().is_ok() {
            self.recorder.note(at, What::Sure);
        }
    }

    /// Reads and writes the register, even if the lock has been lost by then.
    async fn update(&mut self, part: &Part) {
        self.recorder.note(now(), What::Read);
        let value = self.cell.read(&part.name, part.token);
        let was_read = value.is_some();
        self.recorder.note(now(), What::Value(value));
        self.pause().await;
        if was_read {
            let value = format!("{}#{}", self.own.who, now());
            self.recorder.note(now(), What::Write(value.clone()));
            let wrote = self.cell.write(&part.name, part.token, &value);
            self.recorder.note(now(), What::Wrote(wrote));
        }
    }

    async fn pause(&mut self) {
        if self.own.seed.below(2) == 0 {
            let pause = Duration::from_micros(self.own.seed.below(3000));
            tokio::time::sleep(pause).await;
        }
    }
}
