//! Decodes notifications on the member's channel.

use std::time::Duration;

use auto_mutex_core::store::{MemberId, Message, Name, Ticket, tell};

use crate::call::stored;

/// The channel of a member.
pub(crate) fn channel(member: MemberId) -> String {
    format!("auto_mutex:{member}")
}

/// The message in a notification, if any. Messages are only hints, so malformed ones are ignored.
pub(crate) fn read(payload: &str) -> Option<(Name, Message)> {
    let told = parse(payload);
    if told.is_none() {
        tell(|| {
            tracing::debug!("a message on the member's channel is not valid and was ignored");
        });
    }
    told
}

/// Parses `grant <ticket> <token> <counter> <ms> <name>`, followed by ` <signal>` if one was granted,
/// `refresh <ticket> <ms> <name>`, `near <ticket> <name>`, `lost <ticket> <name>`, `ask <ticket> <name>`, `recall <ticket> <name>`, or `probe <member> <name> <text>`.
fn parse(text: &str) -> Option<(Name, Message)> {
    let (kind, rest) = text.split_once(' ')?;
    let most = match kind {
        "grant" => 6,
        "refresh" | "probe" => 3,
        _ => 2,
    };
    let words: Vec<_> = rest.splitn(most, ' ').collect();
    let millis = |text: &str| text.parse().ok().map(Duration::from_millis);
    let (name, message) = match (kind, words.as_slice()) {
        ("grant", [ticket, token, counter, hold, name, signal @ ..]) => {
            let grant = Message::Grant {
                ticket: Ticket::parse(ticket)?,
                token: token.parse().ok()?,
                counter: counter.parse().ok()?,
                hold: millis(hold)?,
                signal: signal.first().map(|signal| stored(signal)),
            };
            (name, grant)
        }
        ("refresh", [ticket, expire, name]) => {
            let (ticket, expire) = (Ticket::parse(ticket)?, millis(expire)?);
            (name, Message::Refresh { ticket, expire })
        }
        ("probe", [from, name, text]) => {
            let (from, text) = (MemberId::parse(from)?, (*text).into());
            (name, Message::Probe { from, text })
        }
        ("near", [ticket, name]) => {
            let ticket = Ticket::parse(ticket)?;
            (name, Message::Near { ticket })
        }
        ("lost", [ticket, name]) => {
            let ticket = Ticket::parse(ticket)?;
            (name, Message::Lost { ticket })
        }
        ("ask", [ticket, name]) => {
            let ticket = Ticket::parse(ticket)?;
            (name, Message::Ask { ticket })
        }
        ("recall", [ticket, name]) => {
            let ticket = Ticket::parse(ticket)?;
            (name, Message::Recall { ticket })
        }
        _ => return None,
    };
    (!name.is_empty() && !name.contains(' ')).then(|| (Name::from_escaped(name), message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_functions_are_understood() {
        let ticket = Ticket::random();
        let name = Name::from_escaped("n:a:b");
        let signalled = Message::Grant {
            ticket,
            token: 17,
            counter: 3,
            hold: Duration::from_millis(2000),
            signal: Some(" any text\n".into()),
        };
        let text = format!("grant {ticket} 17 3 2000 n:a:b  any text\n");
        assert_eq!(parse(&text), Some((name.clone(), signalled)));
        let text = format!("ask {ticket} n:a:b");
        assert_eq!(parse(&text), Some((name, Message::Ask { ticket })));
        for garbage in ["", "grant", "near x n", "ask", "\0"] {
            assert_eq!(parse(garbage), None, "{garbage}");
        }
    }
}
