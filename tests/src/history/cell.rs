//! The fenced registers, on a Redis that is independent of the locks.

use crate::resp::{Connection, Value};

const STEP: &str = include_str!("cell.lua");

/// A connection to the registers.
pub struct Cell {
    connection: Connection,
}

impl Cell {
    /// Connects to the registers on the witness at `port`.
    pub fn at(port: u16) -> Self {
        Self {
            connection: Connection::tcp(port).expect("the witness"),
        }
    }

    /// Reads the register of a name. Returns `None` if the register has seen a later token.
    pub fn read(&mut self, name: &str, token: u64) -> Option<String> {
        self.step(name, token, "read", "")
    }

    /// Writes the register of a name. Returns whether the register accepted the token.
    pub fn write(&mut self, name: &str, token: u64, value: &str) -> bool {
        self.step(name, token, "write", value).is_some()
    }

    fn step(&mut self, name: &str, token: u64, what: &str, value: &str) -> Option<String> {
        let key = format!("cell:{name}");
        let token = format!("{token:020}");
        let command = ["EVAL", STEP, "1", &key, &token, what, value];
        match self.connection.call(&command) {
            Value::Nil => None,
            value => Some(value.text().to_owned()),
        }
    }
}
