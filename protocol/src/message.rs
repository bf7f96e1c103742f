//! [`Message`]: a store's message to a member, and its text as the servers of engines write it.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

#[cfg(any(test, feature = "test-util"))]
use super::Visitor;
use super::reply::millis;
use super::{MemberId, Ticket};

/// A message on a member's channel. It is a hint: see `docs/protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// The ticket holds the lock.
    Grant {
        /// The ticket.
        ticket: Ticket,
        /// The fencing token.
        token: u64,
        /// The number of the request that asked for it.
        counter: u64,
        /// How long the lease lasts.
        hold: Duration,
        /// The signal that was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    /// The ticket is now one of the first in the queue, and must ask more often.
    Near {
        /// The ticket.
        ticket: Ticket,
    },
    /// The hold has ended.
    Lost {
        /// The ticket.
        ticket: Ticket,
    },
    /// Something has changed, and the member must touch the ticket.
    Ask {
        /// The ticket.
        ticket: Ticket,
    },
    /// Another client waits for the lock, so the member must not keep it after the call.
    Recall {
        /// The ticket.
        ticket: Ticket,
    },
    /// A message from another member: see [`Op::Probe`](super::Op::Probe).
    Probe {
        /// The member that sends it.
        from: MemberId,
        /// The message.
        text: Arc<str>,
    },
}

impl Message {
    /// The ticket that the message is about, if it is about one.
    pub fn ticket(&self) -> Option<Ticket> {
        match *self {
            Self::Grant { ticket, .. }
            | Self::Near { ticket }
            | Self::Lost { ticket }
            | Self::Ask { ticket }
            | Self::Recall { ticket } => Some(ticket),
            Self::Probe { .. } => None,
        }
    }

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

    /// Shows the message to `visitor`.
    #[cfg(any(test, feature = "test-util"))]
    pub fn visit(&mut self, visitor: &mut impl Visitor) {
        match self {
            Self::Grant {
                ticket,
                token,
                counter,
                ..
            } => {
                visitor.token(token);
                visitor.counter(*ticket, counter);
                visitor.ticket(ticket);
            }
            Self::Near { ticket }
            | Self::Lost { ticket }
            | Self::Ask { ticket }
            | Self::Recall { ticket } => visitor.ticket(ticket),
            Self::Probe { .. } => {}
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
}
