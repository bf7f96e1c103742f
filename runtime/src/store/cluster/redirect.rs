//! [`Redirect`]: a node says that it did not do it, and which one would.

use super::slot::Slot;
use super::view::address;
use crate::config::Address;
use crate::error::StoreError;

/// Where a request should go instead. It was not executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The slot is served there, from now on.
    Moved(Slot, Address),
    /// The slot is on its way there, and this name has arrived.
    Ask(Address),
}

impl Redirect {
    /// `MOVED 3999 127.0.0.1:6381`, `ASK 3999 127.0.0.1:6381`, as the node at `asked` says it.
    pub(super) fn of(error: &StoreError, asked: &Address) -> Option<Self> {
        let code = error
            .code()
            .filter(|code| ["MOVED", "ASK"].contains(code))?;
        let mut words = error.details().split(' ');
        let slot = Slot::numbered(words.next()?.parse::<u16>().ok()?)?;
        let (host, port) = words.next()?.rsplit_once(':')?;
        let address = address(host, port.parse().ok()?, asked)?;
        Some(match code {
            "MOVED" => Self::Moved(slot, address),
            _ => Self::Ask(address),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreErrorKind;

    fn read(text: &str) -> Option<Redirect> {
        let asked = Address::Tcp {
            host: "asked".to_owned(),
            port: 1,
        };
        let (code, rest) = text.split_once(' ').unwrap_or((text, ""));
        let error = StoreError::of_server(StoreErrorKind::Refused, code, rest);
        Redirect::of(&error, &asked)
    }

    #[test]
    fn redirections_are_understood() {
        let at = |host: &str| Address::Tcp {
            host: host.to_owned(),
            port: 6381,
        };
        let moved = |host| Some(Redirect::Moved(Slot(3999), at(host)));
        assert_eq!(read("MOVED 3999 127.0.0.1:6381"), moved("127.0.0.1"));
        assert_eq!(read("MOVED 3999 :6381"), moved("asked"));
        assert_eq!(read("MOVED 3999 ::1:6381"), moved("::1"));
        assert_eq!(read("ASK 3999 h:6381"), Some(Redirect::Ask(at("h"))));
    }

    #[test]
    fn other_errors_are_not() {
        for text in [
            "MOVED",
            "MOVED 3999",
            "MOVED 16384 h:1",
            "MOVED x h:1",
            "ASK 1 h",
            "ASK 1 h:65536",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
