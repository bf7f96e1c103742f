//! Reads from the witness which tasks make progress, while a contest runs.

use std::collections::HashMap;

use super::LOG;
use crate::belt;
use crate::resp::Connection;

/// A turn: a task entered with a new grant and the registers accepted its tokens, or a task moved an item of a belt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The task.
    pub who: String,
    /// The time of the turn by the witness's clock, in microseconds.
    pub at: u64,
}

/// Reads the turns since this reader was made.
pub struct Turns {
    connection: Connection,
    /// The number of lines that were read of each log.
    read: [(&'static str, usize); 2],
    /// The last grant of each task.
    grants: HashMap<String, String>,
}

impl Turns {
    /// A reader of the witness at `port`, from now on.
    pub fn from_now(port: u16) -> Self {
        let mut connection = Connection::tcp(port).expect("the witness");
        let read = [LOG, belt::LOG].map(|log| {
            let count = connection.call(&["LLEN", log]).int();
            (log, usize::try_from(count).unwrap_or_default())
        });
        Self {
            connection,
            read,
            grants: HashMap::new(),
        }
    }

    /// The turns since the last call.
    pub fn look(&mut self) -> Vec<Turn> {
        let mut turns = Vec::new();
        for (log, read) in &mut self.read {
            let from = read.to_string();
            let lines = self.connection.call(&["LRANGE", *log, &from, "-1"]).texts();
            *read += lines.len();
            let lines = lines.iter().flat_map(|lines| lines.lines());
            turns.extend(lines.filter_map(|line| turn(line, &mut self.grants)));
        }
        turns
    }
}

fn turn(line: &str, grants: &mut HashMap<String, String>) -> Option<Turn> {
    let words: Vec<&str> = line.split(' ').collect();
    let (who, at) = match words[..] {
        ["enter", who, now, "1", part, ..] => {
            // A name and a token identify a grant.
            let grant = part.splitn(3, '/').take(2).collect();
            if grants.get(who) == Some(&grant) {
                return None;
            }
            grants.insert(who.to_owned(), grant);
            (who, now)
        }
        ["put" | "taken", who, _, _, now] => (who, now),
        _ => return None,
    };
    Some(Turn {
        who: who.to_owned(),
        at: at.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::Turns;
    use crate::belt::{Belt, Deed};
    use crate::witness::{Part, Sections, Witness};

    #[test]
    fn whoever_gets_on_is_seen_once() {
        let witness = Witness::new();
        let mut sections = Sections::report_to(witness.port(), "a".to_owned());
        sections.enter(vec![Part::all("n", 2)]);
        let begun = witness.now();
        let mut turns = Turns::from_now(witness.port());
        assert_eq!(turns.look(), []);
        sections.enter(vec![Part::all("n", 1)]);
        assert_eq!(turns.look(), [], "the register refused it");
        sections.enter(vec![Part::all("n", 3)]);
        sections.enter(vec![Part::all("n", 3)]);
        Belt::at(witness.port(), "x".into(), "b".into(), 1).step(1, Deed::Put);
        let seen = turns.look();
        let who: Vec<_> = seen.iter().map(|turn| turn.who.as_str()).collect();
        assert_eq!(who, ["a", "b"]);
        assert!(seen.iter().all(|turn| turn.at >= begun));
        assert_eq!(turns.look(), []);
    }
}
