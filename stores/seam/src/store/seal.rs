//! What a member does with [sealed](Message::open) messages.

use std::time::Duration;

use super::{Events, MemberId, Message, Ticket, tell};
use crate::base::name::Name;
use crate::base::target::STORE;
use crate::base::wait::Limit;

/// Seals a message, as the scripts for Redis do.
#[cfg(any(test, feature = "test-util"))]
pub fn seal(name: &Name, message: &Message) -> String {
    message.seal(name.as_str())
}

/// Opens a sealed message; `None` if it is none, or not from an author who knows the ticket. Messages are only hints,
/// so others are ignored. `find` returns the ticket for a name and a public half. A `probe` is sealed by the member
/// that sends it: see `open_letter`.
pub fn open(
    text: &str,
    find: impl FnOnce(&Name, u64) -> Option<Ticket>,
) -> Option<(Name, Message)> {
    static FORGED: Limit = Limit::every(Duration::from_secs(10));
    let (name, message) = parse(text)?;
    let Some(named) = message.ticket() else {
        return Some((name, message));
    };
    let Some(ticket) = find(&name, named.public()) else {
        tell(|| tracing::debug!(target: STORE, "a message about an unknown ticket was ignored"));
        return None;
    };
    let opened = Message::open(text, ticket);
    if opened.is_none()
        && let Some(others) = FORGED.pass(crate::base::clock::now())
    {
        tell(move || tracing::warn!(target: STORE, others, "a forged message was ignored"));
    }
    Some((name, opened?))
}

/// Parses a message, with the name that it is about.
pub fn parse(text: &str) -> Option<(Name, Message)> {
    let Some((name, message)) = Message::parse(text) else {
        tell(
            || tracing::debug!(target: STORE, "an invalid message on the member's channel was ignored"),
        );
        return None;
    };
    Some((Name::from_escaped(name), message))
}

/// Tells the member what a text on its channel says, if its author may say it. Returns whether it was a grant.
pub fn deliver(events: &dyn Events, text: &str) -> bool {
    let Some((name, message)) = open(text, |name, public| events.ticket(name, public)) else {
        return false;
    };
    let granted = matches!(message, Message::Grant { .. });
    events.told(&name, message);
    granted
}

/// Seals a text from the member `from` to another one, with a ticket of `name` that both know.
pub fn letter(from: MemberId, name: &Name, ticket: Ticket, text: &str) -> String {
    ticket.seal_letter(from, name.as_str(), text)
}

/// Opens such a text, and returns its ticket. `find` returns the ticket for a public half.
pub fn open_letter(
    from: MemberId,
    name: &Name,
    text: &str,
    find: impl FnOnce(u64) -> Option<Ticket>,
) -> Option<Ticket> {
    let ticket = find(Ticket::parse(text.split(' ').next()?)?.public())?;
    let is_sealed = ticket.has_sealed(from, name.as_str(), text);
    is_sealed.then_some(ticket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RandomId;

    fn grant(ticket: Ticket, signal: Option<&str>) -> Message {
        Message::Grant {
            ticket,
            token: 1_795_238_067_412_906,
            counter: 3,
            hold: Duration::from_secs(2),
            signal: signal.map(Into::into),
        }
    }

    fn all(ticket: Ticket) -> Vec<Message> {
        vec![
            grant(ticket, None),
            grant(ticket, Some(" any text\n")),
            Message::Near { ticket },
            Message::Lost { ticket },
            Message::Recall { ticket },
        ]
    }

    #[test]
    fn a_sealed_message_is_opened_by_its_ticket_alone() {
        let (name, ticket) = (Name::from_escaped("n:a:b"), Ticket::random());
        for message in all(ticket) {
            let text = seal(&name, &message);
            let hidden = &ticket.to_string()[16..];
            assert!(!text.contains(hidden), "{text} names {ticket}");
            let opened = open(&text, |of, public| {
                (*of == name && public == ticket.public()).then_some(ticket)
            });
            assert_eq!(opened, Some((name.clone(), message)));
            assert_eq!(open(&text, |_, _| None), None);
            assert_eq!(open(&text, |_, _| Some(ticket.without_secret())), None);
        }
    }

    #[test]
    fn no_byte_of_it_can_be_changed() {
        let (name, ticket) = (Name::from_escaped("n:a:b"), Ticket::random());
        for message in all(ticket) {
            let text = seal(&name, &message);
            for at in 0..text.len() {
                for other in [b'0', b'9', b'a', b'A', b' ', text.as_bytes()[at] ^ 1] {
                    let mut changed = text.clone().into_bytes();
                    changed[at] = other;
                    let Ok(changed) = String::from_utf8(changed) else {
                        continue;
                    };
                    let opened = open(&changed, |_, _| Some(ticket));
                    assert_eq!(opened.is_some(), changed == text, "{changed}");
                }
            }
            for changed in [
                format!("{text} "),
                format!("{text}0"),
                text[..text.len() - 1].into(),
            ] {
                assert!(open(&changed, |_, _| Some(ticket)).is_none(), "{changed}");
            }
        }
    }

    /// The scripts for Redis and clients in other languages compute the same.
    #[test]
    fn the_code_is_a_part_of_the_sha_1() {
        let ticket = Ticket::parse("00000000000000070000000000000007").unwrap();
        let near = seal(&Name::from_escaped("n:m"), &Message::Near { ticket });
        // printf %s '00000000000000070000000000000007near 0000000000000007 n:m' | sha1sum
        assert_eq!(near, "near 0000000000000007587213070a754a14 n:m");
    }

    #[test]
    fn a_letter_is_its_authors() {
        let [name, other] = ["n:a", "n:b"].map(Name::from_escaped);
        let (ticket, from) = (Ticket::random(), MemberId::random());
        let text = letter(from, &name, ticket, "ask 1 2");
        let find = |_| Some(ticket);
        let opened = open_letter(from, &name, &text, find);
        assert_eq!(opened, Some(ticket));
        let changed = text.replace("ask 1", "ask 2");
        assert_eq!(open_letter(from, &name, &changed, find), None);
        assert_eq!(open_letter(from, &other, &text, find), None);
        assert_eq!(open_letter(MemberId::random(), &name, &text, find), None);
        assert_eq!(open_letter(from, &name, &text, |_| None), None);
        assert_eq!(open_letter(from, &name, "ask 1 2", find), None);
    }
}
