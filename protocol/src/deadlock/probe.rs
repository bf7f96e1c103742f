//! [`Probe`]: text messages between clients that search for a deadlock. Unknown ones are ignored. Others may read them,
//! so they have only the public halves of tickets, and whoever sends them seals them. A name is written as it is
//! displayed, which must be a word.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt::{self, Display, Write as _};
use core::time::Duration;

use super::wait::{Wait, WaitId, WaitingHold};
use crate::{SharedStr, Ticket};

/// A message between clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Probe<N> {
    /// Which locks does the task of a holding ticket wait for? Does a waiting ticket still wait?
    Ask {
        /// The number of the asker's pass.
        pass: u64,
        /// The tickets, all of one name.
        tickets: Vec<Ticket>,
    },
    /// The answer, or a part of it.
    Answer(Answer<N>),
    /// This wait must end or report a deadlock: search now.
    Search {
        /// The wait.
        wait: WaitId,
    },
}

/// Each ticket in the question is in one of these lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Answer<N> {
    /// The number of the asker's pass.
    pub pass: u64,
    /// The holds whose tasks wait.
    pub holds: Vec<WaitingHold<N>>,
    /// Tickets that wait.
    pub waiting: Vec<Ticket>,
    /// Tickets whose tasks wait for nothing, or that no longer exist.
    pub free: Vec<Ticket>,
}

pub(super) const MOST_TICKETS: usize = 64;

/// The most bytes of the holds in an answer: a notification of PostgreSQL has less than 8,000, with a name.
pub(super) const MOST_BYTES: usize = 5_000;

const ASK: &str = "ask";
const ANSWER: &str = "answer";
const SEARCH: &str = "search";
const HOLD: &str = "hold";
const WAIT: &str = "wait";
const WAITING: &str = "waiting";
const FREE: &str = "free";
const NONE: &str = "-";

impl<N> Answer<N> {
    /// Nothing yet.
    pub const fn new(pass: u64) -> Self {
        Self {
            pass,
            holds: Vec::new(),
            waiting: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Answers a question. `hold` knows the holds whose tasks wait, and `waits` the tickets that wait.
    pub fn to(
        pass: u64,
        tickets: &[Ticket],
        hold: impl Fn(Ticket) -> Option<WaitingHold<N>>,
        waits: impl Fn(Ticket) -> bool,
    ) -> Self {
        let mut answer = Self::new(pass);
        for ticket in tickets {
            if let Some(hold) = hold(*ticket) {
                answer.holds.push(hold);
            } else if waits(*ticket) {
                answer.waiting.push(*ticket);
            } else {
                answer.free.push(*ticket);
            }
        }
        answer
    }
}

impl<N: Display> Answer<N> {
    /// The answer in parts, each of which fits into a message. A hold that is too large alone loses what only a report
    /// shows. If it still is, it counts as one that ends, so that the search may miss a deadlock, but finds none that
    /// is not there.
    pub fn parts(mut self) -> Vec<Self> {
        let (pass, holds) = (self.pass, core::mem::take(&mut self.holds));
        let (mut parts, mut bytes) = (vec![self], 0);
        for mut hold in holds {
            if size(&hold) > MOST_BYTES {
                hold.meta = SharedStr::EMPTY;
                let waits = hold.waits.iter_mut();
                waits.for_each(|wait| wait.meta = SharedStr::EMPTY);
            }
            let more = size(&hold);
            if more > MOST_BYTES {
                parts[0].free.push(hold.ticket);
                continue;
            }
            bytes += more;
            if bytes > MOST_BYTES {
                bytes = more;
                parts.push(Self::new(pass));
            }
            let last = parts.len() - 1;
            parts[last].holds.push(hold);
        }
        parts
    }
}

fn size(hold: &WaitingHold<impl Display>) -> usize {
    let mut text = String::new();
    let _ = write_hold(&mut text, hold);
    text.len()
}

impl<N: Display> Probe<N> {
    /// The text of the message.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        match self {
            Self::Ask { pass, tickets } => {
                write!(text, "{ASK} {pass}")?;
                tickets
                    .iter()
                    .try_for_each(|ticket| write!(text, " {}", public(*ticket)))
            }
            Self::Answer(answer) => {
                write!(text, "{ANSWER} {}", answer.pass)?;
                for ticket in &answer.waiting {
                    write!(text, " {WAITING} {}", public(*ticket))?;
                }
                for ticket in &answer.free {
                    write!(text, " {FREE} {}", public(*ticket))?;
                }
                let mut holds = answer.holds.iter();
                holds.try_for_each(|hold| write_hold(text, hold))
            }
            Self::Search { wait } => write!(text, "{SEARCH} {wait}"),
        }
    }

    /// Reads a message; `None` if it is none. `name` reads a name.
    pub fn read(text: &str, name: impl Fn(&str) -> N) -> Option<Self> {
        let mut words = text.split(' ');
        let probe = match words.next()? {
            ASK => {
                let pass = words.next()?.parse().ok()?;
                let tickets = words.by_ref().take(MOST_TICKETS).map(read_ticket);
                let tickets = tickets.collect::<Option<_>>()?;
                Self::Ask { pass, tickets }
            }
            ANSWER => {
                let pass = words.next()?.parse().ok()?;
                let mut answer = Answer::new(pass);
                while let Some(word) = words.next() {
                    match word {
                        WAITING => answer.waiting.push(read_ticket(words.next()?)?),
                        FREE => answer.free.push(read_ticket(words.next()?)?),
                        HOLD => answer.holds.push(read_hold(&mut words)?),
                        WAIT => {
                            let wait = read_wait(&mut words, &name)?;
                            answer.holds.last_mut()?.waits.push(wait);
                        }
                        _ => return None,
                    }
                }
                Self::Answer(answer)
            }
            SEARCH => Self::Search {
                wait: WaitId::parse(words.next()?)?,
            },
            _ => return None,
        };
        words.next().is_none().then_some(probe)
    }
}

fn public(ticket: Ticket) -> String {
    format!("{:016x}", ticket.public())
}

fn read_ticket(word: &str) -> Option<Ticket> {
    let public = u64::from_str_radix(word, 16).ok();
    public.map(Ticket::of_public)
}

fn write_hold(text: &mut String, hold: &WaitingHold<impl Display>) -> fmt::Result {
    let (ticket, token, units) = (public(hold.ticket), hold.token, hold.units);
    let (held, meta) = (hold.held.as_millis(), &*hold.meta);
    write!(text, " {HOLD} {ticket} {token} {units} {held} {meta}")?;
    for wait in &hold.waits {
        let (id, name, units) = (wait.id, &wait.name, wait.units);
        let (waited, meta) = (wait.waited.as_millis(), &*wait.meta);
        let fails = u8::from(wait.fails);
        write!(text, " {WAIT} {id} {name} {units} ")?;
        match wait.after {
            Some(after) => text.push_str(&public(after)),
            None => text.push_str(NONE),
        }
        write!(text, " {waited} {fails} {meta}")?;
    }
    Ok(())
}

fn read_hold<'a, N>(words: &mut impl Iterator<Item = &'a str>) -> Option<WaitingHold<N>> {
    Some(WaitingHold {
        ticket: read_ticket(words.next()?)?,
        token: words.next()?.parse().ok()?,
        units: words.next()?.parse().ok()?,
        held: Duration::from_millis(words.next()?.parse().ok()?),
        meta: shared(words.next()?),
        waits: Vec::new(),
    })
}

fn read_wait<'a, N>(
    words: &mut impl Iterator<Item = &'a str>,
    name: impl Fn(&str) -> N,
) -> Option<Wait<N>> {
    Some(Wait {
        id: WaitId::parse(words.next()?)?,
        name: name(words.next().filter(|name| !name.is_empty())?),
        units: words.next()?.parse().ok()?,
        after: match words.next()? {
            NONE => None,
            ticket => Some(read_ticket(ticket)?),
        },
        waited: Duration::from_millis(words.next()?.parse().ok()?),
        fails: words.next()? == "1",
        meta: shared(words.next()?),
    })
}

fn shared(word: &str) -> SharedStr {
    String::from(word).into()
}
