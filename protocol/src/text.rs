//! Replies and messages as the servers of engines write them: words that `docs/protocol.md` lists.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::str::FromStr;
use core::time::Duration;

use super::{HolderRecord, MemberId, Message, Reply, Ticket};

impl Reply {
    /// Parses a reply. `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match (word, rest) {
            ("GRANTED", _) => {
                let (token, signal) = rest.split_once(' ').unzip();
                Self::Granted {
                    token: token.unwrap_or(rest).parse().ok()?,
                    signal: signal.map(Into::into),
                }
            }
            ("QUEUED", _) => {
                let mut words = rest.splitn(3, ' ');
                Self::Queued {
                    position: words.next()?.parse().ok()?,
                    again: millis(words.next()?)?,
                    holder: holder(words.next().unwrap_or_default())?,
                }
            }
            ("BUSY", _) => Self::Busy {
                holder: holder(rest)?,
            },
            ("KEPT", _) => Self::Kept {
                holder: holder(rest)??,
            },
            ("MISMATCH", _) => {
                let (capacity, takes) = numbers::<_, u8>(rest)?;
                let takes = takes == 1;
                Self::Mismatch { capacity, takes }
            }
            ("IN_USE", _) => {
                let (holders, waiters) = numbers(rest)?;
                Self::InUse { holders, waiters }
            }
            ("RELEASED", _) => Self::Released {
                free: rest.parse().ok()?,
            },
            ("COUNT" | "FREED" | "TOLD" | "SIGNALLED" | "DELETED", _) => {
                Self::Count(rest.parse().ok()?)
            }
            ("REFUSED", "") => Self::Refused,
            ("TOO_MANY", "") => Self::TooMany,
            ("GONE", "") => Self::Gone,
            ("CANCELLED", "") => Self::Cancelled,
            _ => return None,
        })
    }
}

/// Parses a token and the meta after it, if there is a holder.
fn holder(text: &str) -> Option<Option<HolderRecord>> {
    if text.is_empty() {
        return Some(None);
    }
    let (token, meta) = text.split_once(' ')?;
    Some(Some(HolderRecord {
        token: token.parse().ok()?,
        meta: meta.to_owned().into(),
    }))
}

fn numbers<A: FromStr, B: FromStr>(text: &str) -> Option<(A, B)> {
    let (first, second) = text.split_once(' ')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

impl Message {
    /// Parses a message on a member's channel, with the name that it is about. `None` if it is malformed.
    ///
    /// Reads `grant <ticket> <token> <counter> <ms> <name>`, followed by ` <signal>` if one was granted,
    /// `probe <member> <name> <text>`, or `near`, `lost`, `ask` or `recall` with `<ticket> <name>`.
    pub fn parse(text: &str) -> Option<(&str, Self)> {
        let (kind, rest) = text.split_once(' ')?;
        let (id, rest) = rest.split_once(' ')?;
        let ticket = Ticket::parse(id);
        let (name, message) = match kind {
            "probe" => {
                let (name, text) = rest.split_once(' ')?;
                let (from, text) = (MemberId::parse(id)?, text.into());
                (name, Self::Probe { from, text })
            }
            "grant" => {
                let mut words = rest.splitn(5, ' ');
                let grant = Self::Grant {
                    ticket: ticket?,
                    token: words.next()?.parse().ok()?,
                    counter: words.next()?.parse().ok()?,
                    hold: millis(words.next()?)?,
                    signal: words.clone().nth(1).map(Into::into),
                };
                (words.next()?, grant)
            }
            "near" => (rest, Self::Near { ticket: ticket? }),
            "lost" => (rest, Self::Lost { ticket: ticket? }),
            "ask" => (rest, Self::Ask { ticket: ticket? }),
            "recall" => (rest, Self::Recall { ticket: ticket? }),
            _ => return None,
        };
        (!name.is_empty() && !name.contains(' ')).then_some((name, message))
    }

    /// The text of this message, as servers of engines write it.
    pub fn text(&self, name: &str) -> String {
        let about = |word: &str, ticket: &Ticket| format!("{word} {ticket} {name}");
        match self {
            Self::Grant {
                ticket,
                token,
                counter,
                hold,
                signal,
            } => {
                let (ms, signal) = (hold.as_millis(), signal.as_deref().map(|it| [" ", it]));
                let signal = signal.unwrap_or_default().concat();
                format!("grant {ticket} {token} {counter} {ms} {name}{signal}")
            }
            Self::Near { ticket } => about("near", ticket),
            Self::Lost { ticket } => about("lost", ticket),
            Self::Ask { ticket } => about("ask", ticket),
            Self::Recall { ticket } => about("recall", ticket),
            Self::Probe { from, text } => format!("probe {from} {name} {text}"),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn messages_are_understood() {
        let ticket = Ticket::from_random([7; 16]);
        let name = "n:a:b";
        let grant = Message::Grant {
            ticket,
            token: 1_795_238_067_412_906,
            counter: 3,
            hold: Duration::from_millis(2000),
            signal: None,
        };
        let text = format!("grant {ticket} 1795238067412906 3 2000 n:a:b");
        assert_eq!(Message::parse(&text), Some((name, grant)));
        let signalled = Message::Grant {
            ticket,
            token: 17,
            counter: 3,
            hold: Duration::from_millis(2000),
            signal: Some(" any text\n".into()),
        };
        let text = format!("grant {ticket} 17 3 2000 n:a:b  any text\n");
        assert_eq!(Message::parse(&text), Some((name, signalled)));
        let from = MemberId::from_random([9; 16]);
        let probe = Message::Probe {
            from,
            text: "ask 1 2".into(),
        };
        let text = format!("probe {from} n:a:b ask 1 2");
        assert_eq!(Message::parse(&text), Some((name, probe)));
        let near = Message::Near { ticket };
        assert_eq!(
            Message::parse(&format!("near {ticket} n:a:b")),
            Some((name, near))
        );
        let lost = Message::Lost { ticket };
        assert_eq!(
            Message::parse(&format!("lost {ticket} n:a:b")),
            Some((name, lost))
        );
        let ask = Message::Ask { ticket };
        let text = format!("ask {ticket} n:a:b");
        assert_eq!(Message::parse(&text), Some((name, ask)));
        let recall = Message::Recall { ticket };
        let text = format!("recall {ticket} n:a:b");
        assert_eq!(Message::parse(&text), Some((name, recall)));
    }

    #[test]
    fn other_messages_are_not() {
        let ticket = Ticket::from_random([7; 16]);
        let table = [
            String::new(),
            "grant".into(),
            format!("grant {ticket}"),
            format!("grant {ticket} 1 2 n"),
            format!("grant {ticket} -1 2 3 n"),
            format!("grant {ticket} 99999999999999999999999 2 3 n"),
            format!("near {ticket}"),
            format!("near {ticket} "),
            format!("near {ticket} n more"),
            format!("stolen {ticket} n"),
            format!("probe {ticket}"),
            format!("probe {ticket} n"),
            format!("probe {ticket}  ask"),
            "probe nobody n ask".into(),
            "near not-a-ticket n".into(),
            "\0\0\0".into(),
        ];
        for text in table {
            assert_eq!(Message::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn replies_are_understood() {
        let granted = |token, signal: Option<&str>| Reply::Granted {
            token,
            signal: signal.map(Into::into),
        };
        let holder = || HolderRecord {
            token: 7,
            meta: "host 1 site".into(),
        };
        let queued = |position, holder| Reply::Queued {
            position,
            again: Duration::from_millis(1100),
            holder,
        };
        for (text, reply) in [
            ("GRANTED 17", granted(17, None)),
            ("GRANTED 17 a text", granted(17, Some("a text"))),
            ("QUEUED 2 1100", queued(2, None)),
            ("QUEUED 2 1100 7 host 1 site", queued(2, Some(holder()))),
            ("BUSY", Reply::Busy { holder: None }),
            ("KEPT 7 host 1 site", Reply::Kept { holder: holder() }),
            ("RELEASED 3", Reply::Released { free: 3 }),
            ("COUNT 2", Reply::Count(2)),
            ("FREED 2", Reply::Count(2)),
            ("GONE", Reply::Gone),
        ] {
            assert_eq!(Reply::parse(text), Some(reply), "{text}");
        }
        let other = [
            "",
            "GRANTED",
            "GRANTED -1",
            "GRANTED x a",
            "RELEASED",
            "QUEUED -1 9",
            "QUEUED 1",
            "BUSY x",
            "BUSY x y",
            "KEPT",
            "COUNT x",
            "GONE 1",
            "NO",
        ];
        for garbage in other {
            assert_eq!(Reply::parse(garbage), None, "{garbage}");
        }
    }
}
