//! [`Redirector`]: passes on what one node answers and says to the member, and sends requests on where the node redirects
//! them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::primary::Primary;
use super::slot::Slot;
use super::store::{ClusterStore, busy};
use super::topology::address;
use crate::config::Address;
use crate::error::StoreError;
use crate::name::Name;
use crate::store::{Answer, Events, GrantBlock, Message, Node, Request, Store as _};

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

pub(super) struct Redirector {
    pub(super) store: Arc<ClusterStore>,
    pub(super) primary: Arc<Primary>,
    pub(super) events: Arc<dyn Events>,
}

impl Redirector {
    /// Requests that certainly were not executed may go on; the member deals with all others.
    fn failed(&self, request: Request, error: StoreError) {
        let refused = match Redirect::of(&error, &self.primary.address) {
            Some(Redirect::Moved(slot, address)) => self.moved(slot, &address, request),
            Some(Redirect::Ask(address)) => self.asked(address, request),
            None => return self.not_redirected(request, error),
        };
        if let Some(request) = refused {
            self.events.answered(busy(request, &error));
        }
    }

    /// The slot is at `address` now. Given back: the request must wait.
    fn moved(&self, slot: Slot, address: &Address, request: Request) -> Option<Request> {
        self.store.schedule(|work| work.refresh = true);
        let map = self.store.map();
        match map.find(address).filter(|target| target.is_up()) {
            Some(target) => self.store.follow_move(slot, &self.primary, target, request),
            None => Some(request),
        }
    }

    /// The slot is on its way to `address`, and this name has arrived. Given back: the request must wait.
    fn asked(&self, address: Address, request: Request) -> Option<Request> {
        let map = self.store.map();
        let Some(target) = map.find(&address) else {
            self.store.schedule(|work| work.connect.extend([address]));
            return Some(request);
        };
        // What went elsewhere before this one was answered must not be overtaken.
        if !target.is_up() || !map.is_at(Slot::of(&request.name), &self.primary) {
            return Some(request);
        }
        target.want();
        let refused = target.store.ask(request);
        target.store.flush();
        refused
    }

    fn not_redirected(&self, request: Request, error: StoreError) {
        if error.code() == Some("CLUSTERDOWN") {
            self.refused(&error);
        }
        let name = error.is_disconnected().then(|| request.name.clone());
        let result = Err(error);
        self.events.answered(Answer { request, result });
        // The name is at another node by now, which has no reason of its own to be asked again.
        let node = name.map(|name| self.store.node(&name));
        if let Some(node) = node.filter(|node| *node != self.primary.node) {
            self.ask_again(node);
        }
    }

    /// The node is there, and does nothing: it counts as lost until it answers again.
    fn refused(&self, error: &StoreError) {
        if !self.primary.refuses.swap(true, Ordering::AcqRel) {
            self.events.disconnected(self.primary.node, error.clone());
        }
        self.store.schedule(|work| work.refresh = true);
    }

    fn ask_again(&self, node: Node) {
        self.store.schedule(|work| work.ask_again.extend([node]));
    }
}

impl Events for Redirector {
    fn answered(&self, answer: Answer) {
        let Answer { request, result } = answer;
        match result {
            Err(error) => self.failed(request, error),
            result => {
                self.events.answered(Answer { request, result });
                if self.primary.refuses.swap(false, Ordering::AcqRel) {
                    self.ask_again(self.primary.node);
                }
            }
        }
    }

    fn told(&self, name: &Name, message: Message) {
        // Every node passes on what it is told to publish; those copies are late. The first one of a grant counts, whoever
        // sends it: while a slot moves, others than its owner grant too. Of the rest that of the owner will do.
        let granted = matches!(message, Message::Grant { .. });
        let counts = || {
            let map = self.store.map();
            let home = map.primary(Slot::of(name));
            home.is_none_or(|home| Arc::ptr_eq(home, &self.primary) || !home.is_up())
        };
        if granted || counts() {
            self.events.told(name, message);
        }
    }

    fn connected(&self, _: Node, _: u64) {
        self.primary.refuses.store(false, Ordering::Release);
        self.primary.set_up(true);
        self.store.schedule(|work| work.changed = true);
        let generation = self.primary.next_generation();
        self.events.connected(self.primary.node, generation);
    }

    fn disconnected(&self, _: Node, error: StoreError) {
        // Of one that is new nobody knows whether it can be reached.
        if self.primary.is_up() {
            self.primary.set_up(false);
        }
        self.store.schedule(|work| {
            work.changed = true;
            work.refresh = true;
        });
        self.events.disconnected(self.primary.node, error);
    }

    fn closed(&self, _: Node, closing: Option<GrantBlock>) {
        self.events.closed(self.primary.node, closing);
    }

    fn still_disconnected(&self, _: Node, error: StoreError) {
        if self.primary.is_new() {
            self.primary.set_up(false);
            self.store.schedule(|work| work.changed = true);
        }
        self.events.still_disconnected(self.primary.node, error);
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
