//! [`Redirector`]: passes the answers and messages of one node to the member, and follows the node's redirects.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    Address, Answer, Events, Message, Name, Node, NodeChange, Request, Store as _, Ticket,
};

use super::primary::Primary;
use super::slot::Slot;
use super::store::{ClusterStore, busy};
use super::topology::address;
use crate::error::Code;

/// Parses `MOVED 3999 127.0.0.1:6381` or `ASK 3999 127.0.0.1:6381` from the node at `asked`. The slot has moved to this
/// address; or it is migrating there, and the request's name has already arrived. The request was not executed.
pub(super) fn redirect(error: &StoreError, asked: &Address) -> Option<(Code, Slot, Address)> {
    let code = Code::of_error(error);
    if !matches!(code, Code::Moved | Code::Ask) {
        return None;
    }
    let mut words = error.details().split(' ');
    let slot = Slot::numbered(words.next()?.parse::<u16>().ok()?)?;
    let (host, port) = words.next()?.rsplit_once(':')?;
    Some((code, slot, address(host, port.parse().ok()?, asked)?))
}

pub(super) struct Redirector {
    pub(super) store: Arc<ClusterStore>,
    pub(super) primary: Arc<Primary>,
    pub(super) events: Arc<dyn Events>,
}

impl Redirector {
    /// A redirected request certainly did not run, so it can be sent to the other node.
    fn failed(&self, request: Request, error: StoreError) {
        let refused = match redirect(&error, &self.primary.address) {
            Some((Code::Moved, slot, address)) => self.moved(slot, &address, request),
            Some((_, _, address)) => self.asked(address, request),
            None => return self.not_redirected(request, error),
        };
        if let Some(request) = refused {
            self.events.answered(busy(request, &error));
        }
    }

    /// Returns the request if it cannot be sent to `address` now.
    fn moved(&self, slot: Slot, address: &Address, request: Request) -> Option<Request> {
        self.store.schedule(|work| work.refresh = true);
        let map = self.store.map();
        match map.find(address).filter(|target| target.is_up()) {
            Some(target) => self.store.follow_move(slot, &self.primary, target, request),
            None => Some(request),
        }
    }

    fn asked(&self, address: Address, request: Request) -> Option<Request> {
        let map = self.store.map();
        let Some(target) = map.find(&address) else {
            self.store.schedule(|work| work.connect.extend([address]));
            return Some(request);
        };
        // A request must not overtake earlier redirected ones.
        if !target.is_up() || !map.is_at(Slot::of(&request.name), &self.primary) {
            return Some(request);
        }
        target.want();
        let refused = target.store.ask(request);
        target.store.flush();
        refused
    }

    fn not_redirected(&self, request: Request, error: StoreError) {
        // Report only the first refusal, because later ones must not shorten the pauses between surveys.
        if Code::of_error(&error) == Code::ClusterDown
            && !self.primary.refuses.swap(true, Ordering::AcqRel)
        {
            let change = NodeChange::Disconnected(error.clone());
            self.events.node_changed(self.primary.node, change);
            self.store.schedule(|work| work.refresh = true);
        }
        let name = error.is_disconnected().then(|| request.name.clone());
        self.events.answered(request.failed(error));
        // If another node serves the name by now, none of its events would make the member resend the request.
        let node = name.map(|name| self.store.node(&name));
        if let Some(node) = node.filter(|node| *node != self.primary.node) {
            self.store.schedule(|work| work.ask_again.extend([node]));
        }
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
                    let node = self.primary.node;
                    self.store.schedule(|work| work.ask_again.extend([node]));
                }
            }
        }
    }

    fn ticket(&self, name: &Name, public: u64) -> Option<Ticket> {
        self.events.ticket(name, public)
    }

    fn told(&self, name: &Name, message: Message) {
        // Every node forwards published messages, so there are several copies, some of them late. During a migration,
        // other nodes than the slot's owner grant too. All other messages count only from the owner while it is
        // connected.
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

    fn node_changed(&self, _: Node, mut change: NodeChange) {
        match &mut change {
            NodeChange::Connected { again } => {
                self.primary.refuses.store(false, Ordering::Release);
                self.primary.set_up(true);
                self.store.schedule(|work| work.changed = true);
                *again = self.primary.connects_again();
            }
            NodeChange::Disconnected(_) => {
                // Otherwise it stays `NEW`, because the node may or may not be reachable.
                if self.primary.is_up() {
                    self.primary.set_up(false);
                }
                self.store.schedule(|work| {
                    work.changed = true;
                    work.refresh = true;
                });
            }
            NodeChange::StillDisconnected(_) if self.primary.is_new() => {
                self.primary.set_up(false);
                self.store.schedule(|work| work.changed = true);
            }
            _ => {}
        }
        self.events.node_changed(self.primary.node, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_mutex_seam::store::StoreErrorKind;

    fn read(text: &str) -> Option<(Code, Slot, Address)> {
        let asked = Address::Tcp {
            host: "asked".to_owned(),
            port: 1,
        };
        let (code, rest) = text.split_once(' ').unwrap_or((text, ""));
        let error = StoreError::of_server(StoreErrorKind::Refused, code, rest);
        redirect(&error, &asked)
    }

    #[test]
    fn redirections_are_understood() {
        let at = |host: &str| Address::Tcp {
            host: host.to_owned(),
            port: 6381,
        };
        let moved = |host| Some((Code::Moved, Slot(3999), at(host)));
        assert_eq!(read("MOVED 3999 127.0.0.1:6381"), moved("127.0.0.1"));
        assert_eq!(read("MOVED 3999 :6381"), moved("asked"));
        assert_eq!(read("MOVED 3999 ::1:6381"), moved("::1"));
        assert_eq!(
            read("ASK 3999 h:6381"),
            Some((Code::Ask, Slot(3999), at("h")))
        );
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
