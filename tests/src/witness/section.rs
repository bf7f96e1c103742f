//! What a holder reports.

use super::{COUNTER, INSIDE, LOG, REGISTER};
use crate::resp::{Connection, Value};

const ENTER: &str = include_str!("enter.lua");
const LEAVE: &str = include_str!("leave.lua");

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
    token: String,
    entered: String,
    /// Whether the witness saw nobody else inside.
    pub alone: bool,
    /// Whether the register took the token.
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

    /// A holder enters.
    pub fn enter(&mut self, token: u64) -> Section {
        let token = format!("{token:020}");
        let evidence = std::mem::take(&mut self.evidence);
        let reply = self.run(ENTER, &[&token, &self.who.clone(), &evidence]);
        let (inside, entered, taken) = read(&reply);
        Section {
            token,
            entered,
            alone: inside == 1,
            taken,
        }
    }

    /// It leaves; returns whether the register took its last write. Ask the guard after this.
    pub fn leave(&mut self, section: &Section) -> (bool, String) {
        let reply = self.run(LEAVE, &[&section.token, &self.who.clone()]);
        let (_, left, taken) = read(&reply);
        (taken, left)
    }

    /// It believed to hold from when it entered until `left` (as [`leave`](Self::leave) returned it).
    pub fn testify(&mut self, section: &Section, left: &str) {
        self.evidence = format!(
            "held {} {} {} {left}",
            self.who, section.token, section.entered
        );
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

    fn run(&mut self, script: &str, arguments: &[&str]) -> Value {
        let mut command = vec!["EVAL", script, "4", COUNTER, REGISTER, LOG, INSIDE];
        command.extend(arguments);
        self.connection.call(&command)
    }
}

fn read(reply: &Value) -> (i64, String, bool) {
    let [inside, now, taken] = reply.list() else {
        panic!("the witness answered {reply:?}");
    };
    (inside.int(), now.text().to_owned(), taken.int() == 1)
}
