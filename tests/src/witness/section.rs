//! The reports of a holder.

use super::{INSIDE, LOG, PROGRESS, Part, register};
use crate::resp::{Connection, Value};

const ENTER: &str = concat!(include_str!("register.lua"), include_str!("enter.lua"));
const LEAVE: &str = concat!(include_str!("register.lua"), include_str!("leave.lua"));

/// The reports of one task, one section after another.
pub struct Sections {
    connection: Connection,
    who: String,
    /// The evidence of the last section. The next report includes it, which saves a round trip.
    evidence: String,
}

/// A section: the time from when a holder enters until it leaves.
#[derive(Debug)]
pub struct Section {
    parts: Vec<Part>,
    /// When the holder entered, by the witness's clock.
    pub entered: String,
    /// Whether the registers accepted the tokens.
    pub taken: bool,
}

impl Sections {
    /// Connects to the witness at `port`; `who` must not contain spaces.
    pub fn report_to(port: u16, who: String) -> Self {
        Self {
            connection: Connection::tcp(port).expect("the witness"),
            who,
            evidence: String::new(),
        }
    }

    /// Reports that a holder enters, with all the parts that it has.
    pub fn enter(&mut self, parts: Vec<Part>) -> Section {
        let evidence = std::mem::take(&mut self.evidence);
        let (entered, taken) = self.run(ENTER, &evidence, &parts);
        Section {
            parts,
            entered,
            taken,
        }
    }

    /// Reports that the holder leaves. Returns whether the registers accepted its last write, and when. Ask the guard
    /// after this.
    pub fn leave(&mut self, section: &Section) -> (bool, String) {
        let (left, taken) = self.run(LEAVE, "", &section.parts);
        (taken, left)
    }

    /// Gives evidence that the holder's guard was valid from its entry until `left` (as [`leave`](Self::leave) returned
    /// it).
    pub fn testify(&mut self, section: &Section, left: &str) {
        self.evidence = format!("held {} {} {left}", self.who, section.entered);
        for part in &section.parts {
            self.evidence += &format!(" {part}");
        }
    }

    /// Gives evidence that the holder's guard was valid when the holder entered, but not when it left.
    pub fn testify_entry(&mut self, section: &Section) {
        self.testify(section, &section.entered);
    }

    /// Sends the evidence that no report has carried yet.
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
