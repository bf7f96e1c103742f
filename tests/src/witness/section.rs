//! What a holder reports.

use super::{INSIDE, LOG, PROGRESS, Part, register};
use crate::resp::{Connection, Value};

const ENTER: &str = concat!(include_str!("register.lua"), include_str!("enter.lua"));
const LEAVE: &str = concat!(include_str!("register.lua"), include_str!("leave.lua"));

/// The reports of one task, one section after the other.
pub struct Sections {
    connection: Connection,
    who: String,
    /// Goes with the next report, so that evidence costs no round trip.
    evidence: String,
}

/// A holder is inside.
#[derive(Debug)]
pub struct Section {
    parts: Vec<Part>,
    /// When, by the witness' clock.
    pub entered: String,
    /// Whether the registers took the tokens.
    pub taken: bool,
}

impl Sections {
    /// Reports go to the witness at `port`; `who` must not contain spaces.
    pub fn report_to(port: u16, who: String) -> Self {
        Self {
            connection: Connection::tcp(port).expect("the witness"),
            who,
            evidence: String::new(),
        }
    }

    /// A holder enters, with all that it has.
    pub fn enter(&mut self, parts: Vec<Part>) -> Section {
        let evidence = std::mem::take(&mut self.evidence);
        let (entered, taken) = self.run(ENTER, &evidence, &parts);
        Section {
            parts,
            entered,
            taken,
        }
    }

    /// It leaves; returns whether the registers took its last write, and when that was. Ask the guard after this.
    pub fn leave(&mut self, section: &Section) -> (bool, String) {
        let (left, taken) = self.run(LEAVE, "", &section.parts);
        (taken, left)
    }

    /// It believed to hold from when it entered until `left` (as [`leave`](Self::leave) returned it).
    pub fn testify(&mut self, section: &Section, left: &str) {
        self.evidence = format!("held {} {} {left}", self.who, section.entered);
        for part in &section.parts {
            self.evidence += &format!(" {part}");
        }
    }

    /// It believed to hold when it entered, and no longer when it left.
    pub fn testify_entry(&mut self, section: &Section) {
        self.testify(section, &section.entered);
    }

    /// Hands in the last evidence.
    pub fn flush(&mut self) {
        let evidence = std::mem::take(&mut self.evidence);
        if !evidence.is_empty() {
            self.connection.call(&["RPUSH", LOG, &evidence]);
        }
    }

    fn run(&mut self, script: &str, evidence: &str, parts: &[Part]) -> (String, bool) {
        let mut command = vec!["EVAL".to_owned(), script.to_owned()];
        command.push((3 + parts.len()).to_string());
        command.extend([LOG, INSIDE, PROGRESS].map(str::to_owned));
        command.extend(parts.iter().map(|part| register(&part.name)));
        command.extend([self.who.clone(), evidence.to_owned()]);
        for part in parts {
            let (units, capacity) = (part.units.to_string(), part.capacity.to_string());
            command.extend([part.name.clone(), part.token_text(), units, capacity]);
        }
        read(&self.connection.call(&command))
    }
}

fn read(reply: &Value) -> (String, bool) {
    let [now, taken] = reply.list() else {
        panic!("the witness answered {reply:?}");
    };
    (now.text().to_owned(), taken.int() == 1)
}
