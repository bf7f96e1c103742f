//! Decodes pushes: messages on the member's channels.

use std::time::Duration;

use auto_mutex_core::store::{MemberId, Message, Name, Ticket, tell};

use crate::wire::Value;

/// The message in a push, if any. Messages are only hints, so malformed ones are ignored.
pub(crate) fn read(words: &[Value<'_>]) -> Option<(Name, Message)> {
    let [Value::Text(b"message" | b"smessage"), _, payload] = words else {
        return None;
    };
    let told = payload.as_text().and_then(parse);
    if told.is_none() {
        tell(|| {
            tracing::debug!("a message on the member's channel is not valid and was ignored");
        });
    }
    told
}

/// Parses `grant <ticket> <token> <counter> <ms> <name>`, followed by ` <signal>` if one was granted,
/// `refresh <ticket> <ms> <name>`, `near <ticket> <name>`, `lost <ticket> <name>`, `recall <ticket> <name>`, or `probe <member> <name> <text>`.
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
                signal: signal.first().map(|signal| (*signal).into()),
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
    fn messages_of_the_scripts_are_understood() {
        let ticket = Ticket::random();
        let name = Name::from_escaped("n:a:b");
        let grant = Message::Grant {
            ticket,
            token: 1_795_238_067_412_906,
            counter: 3,
            hold: Duration::from_millis(2000),
            signal: None,
        };
        let text = format!("grant {ticket} 1795238067412906 3 2000 n:a:b");
        assert_eq!(parse(&text), Some((name.clone(), grant)));
        let signalled = Message::Grant {
            ticket,
            token: 17,
            counter: 3,
            hold: Duration::from_millis(2000),
            signal: Some(" any text\n".into()),
        };
        let text = format!("grant {ticket} 17 3 2000 n:a:b  any text\n");
        assert_eq!(parse(&text), Some((name.clone(), signalled)));
        let refresh = Message::Refresh {
            ticket,
            expire: Duration::from_millis(1500),
        };
        let text = format!("refresh {ticket} 1500 n:a:b");
        assert_eq!(parse(&text), Some((name.clone(), refresh)));
        let from = MemberId::random();
        let probe = Message::Probe {
            from,
            text: "ask 1 2".into(),
        };
        let text = format!("probe {from} n:a:b ask 1 2");
        assert_eq!(parse(&text), Some((name.clone(), probe)));
        let near = Message::Near { ticket };
        assert_eq!(
            parse(&format!("near {ticket} n:a:b")),
            Some((name.clone(), near))
        );
        let lost = Message::Lost { ticket };
        assert_eq!(
            parse(&format!("lost {ticket} n:a:b")),
            Some((name.clone(), lost))
        );
        let recall = Message::Recall { ticket };
        let text = format!("recall {ticket} n:a:b");
        assert_eq!(parse(&text), Some((name, recall)));
    }

    #[test]
    fn garbage_is_not() {
        let ticket = Ticket::random();
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
            format!("refresh {ticket} n"),
            format!("refresh {ticket} 1"),
            format!("stolen {ticket} n"),
            format!("probe {ticket}"),
            format!("probe {ticket} n"),
            format!("probe {ticket}  ask"),
            "probe nobody n ask".into(),
            "near not-a-ticket n".into(),
            "\0\0\0".into(),
        ];
        for text in table {
            assert_eq!(parse(&text), None, "{text}");
        }
    }
}
