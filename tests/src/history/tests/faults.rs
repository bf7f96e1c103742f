//! Fake locks with known faults, and a thread that evades a register's fence. The search must find each fault, and
//! nothing in runs without one.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::events::eventually;
use crate::history::{
    Cell, Event, Lock, Recorder, Register, What, check, holds, minimal, now, read, shown, updates,
};
use crate::witness::Witness;

/// The fault of a lock or of its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// The lock is granted to every thread at once.
    LetsAllIn,
    /// The lock grants one unit more than it has.
    OneTooMany,
    /// A reader is granted the lock beside a writer.
    ReaderBesideWriter,
    /// A grant gets the token of an earlier grant.
    TokenGoesBack,
    /// Each thread writes with a token that the register always accepts, instead of with its own.
    WritesPastTheFence,
}

/// A lock for the threads of this process.
struct Fake {
    capacity: u32,
    fault: Fault,
    /// The units in use, and the last token.
    state: Mutex<(u32, u64)>,
    freed: Condvar,
}

impl Fake {
    fn take(&self, units: u32) -> u64 {
        let spare = match self.fault {
            Fault::LetsAllIn | Fault::WritesPastTheFence => u32::MAX / 2,
            Fault::OneTooMany => 1,
            Fault::ReaderBesideWriter if units == 1 => self.capacity,
            _ => 0,
        };
        let full = |state: &mut (u32, u64)| state.0 + units > self.capacity + spare;
        let state = self.state.lock().expect("no panic");
        let mut state: MutexGuard<'_, (u32, u64)> =
            self.freed.wait_while(state, full).expect("no panic");
        state.0 += units;
        state.1 += 1;
        match self.fault {
            Fault::TokenGoesBack => state.1 - state.1 % 5 / 4,
            _ => state.1,
        }
    }

    fn free(&self, units: u32) {
        self.state.lock().expect("no panic").0 -= units;
        self.freed.notify_all();
    }
}

/// Runs some threads that take the lock again and again. Returns the events that they recorded.
fn contest(capacity: u32, fault: Fault, witness: Option<u16>) -> BTreeMap<String, Vec<Event>> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("history");
    let fake = Fake {
        capacity,
        fault,
        state: Mutex::default(),
        freed: Condvar::new(),
    };
    thread::scope(|scope| {
        for task in 0..4 {
            let (fake, path) = (&fake, &path);
            scope.spawn(move || {
                let mut recorder = Recorder::open(path, format!("thread/{task}"));
                let mut cell = witness.map(Cell::at);
                for turn in 0..10 {
                    let units = match (task + turn) % 3 {
                        0 => capacity,
                        _ => 1,
                    };
                    recorder.note(now(), What::Ask);
                    let token = fake.take(units);
                    let name = "fake".to_owned();
                    let got = What::Got {
                        name,
                        token,
                        units,
                        capacity,
                    };
                    recorder.note(now(), got);
                    match &mut cell {
                        Some(cell) => update(&mut recorder, cell, fault, token, turn),
                        None => thread::sleep(Duration::from_micros(300)),
                    }
                    recorder.note(now(), What::Sure);
                    recorder.note(now(), What::Leave);
                    fake.free(units);
                }
            });
        }
    });
    read(&path)
}

fn update(recorder: &mut Recorder, cell: &mut Cell, fault: Fault, token: u64, turn: u64) {
    let who = format!("{token}#{turn}");
    recorder.note(now(), What::Read);
    let value = cell.read("fake", token);
    let was_read = value.is_some();
    recorder.note(now(), What::Value(value));
    if was_read {
        thread::sleep(Duration::from_micros(300));
        let fence = match fault {
            Fault::WritesPastTheFence => u64::MAX,
            _ => token,
        };
        recorder.note(now(), What::Write(who.clone()));
        let wrote = cell.write("fake", fence, &who);
        recorder.note(now(), What::Wrote(wrote));
    }
}

/// A short description of what is wrong with the holds; `None` if nothing is.
fn fault_of_holds(capacity: u32, fault: Fault) -> Option<String> {
    let histories = holds(&contest(capacity, fault, None));
    let (lock, history) = &histories["fake"];
    assert_eq!(lock.capacity, capacity);
    check(lock, history).err()?;
    let least = minimal(lock, history);
    assert!(least.len() <= 2 * (capacity as usize + 1), "{least:#?}");
    let violation = check(lock, &least).expect_err("still wrong");
    Some(shown::<Lock>(&least, &violation))
}

fn is_seen(capacity: u32, fault: Fault) {
    assert_eq!(fault_of_holds(capacity, Fault::Nothing), None);
    let mut seen = None;
    eventually("the fault is seen", || {
        seen = fault_of_holds(capacity, fault);
        seen.is_some()
    });
    println!("{fault:?}\n{}", seen.unwrap_or_default());
}

#[test]
fn a_lock_that_does_not_lock_is_seen() {
    is_seen(1, Fault::LetsAllIn);
}

#[test]
fn a_permit_too_many_is_seen() {
    is_seen(3, Fault::OneTooMany);
}

#[test]
fn a_reader_beside_a_writer_is_seen() {
    is_seen(8, Fault::ReaderBesideWriter);
}

#[test]
fn a_token_that_comes_again_is_seen() {
    is_seen(1, Fault::TokenGoesBack);
}

/// The lock is granted to all threads at once, so only the register's fence orders the updates.
#[test]
fn a_write_past_the_fence_is_seen() {
    let fault = |fault| {
        let witness = Witness::new();
        let histories = updates(&contest(1, fault, Some(witness.port())));
        let history = &histories["fake"];
        let violation = check(&Register, history).err()?;
        Some(shown::<Register>(history, &violation))
    };
    assert_eq!(fault(Fault::LetsAllIn), None);
    let mut seen = None;
    eventually("the fault is seen", || {
        seen = fault(Fault::WritesPastTheFence);
        seen.is_some()
    });
    println!("{}", seen.unwrap_or_default());
}
