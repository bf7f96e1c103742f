//! [`Relay`]: what one node tells, on its way to the member.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::primary::Primary;
use super::redirect::Redirect;
use super::slot::Slot;
use super::store::{ClusterStore, busy};
use crate::error::StoreError;
use crate::name::Name;
use crate::store::{Answer, Closing, Events, Message, Node, Request, Store as _};

pub(super) struct Relay {
    pub(super) store: Arc<ClusterStore>,
    pub(super) primary: Arc<Primary>,
    pub(super) events: Arc<dyn Events>,
}

impl Relay {
    /// Requests that certainly were not executed may go on; whatever else is the member's.
    fn failed(&self, request: Request, error: StoreError) {
        let answer = match Redirect::of(&error, &self.primary.address) {
            Some(Redirect::Moved(slot, address)) => {
                self.store.sign(|signs| signs.doubted = true);
                let map = self.store.map();
                let target = map.find(&address).filter(|target| target.is_up());
                let waits = match target {
                    Some(target) => self.store.turn(slot, &self.primary, target, request),
                    None => Some(request),
                };
                waits.map(|request| busy(request, &error))
            }
            Some(Redirect::Ask(address)) => {
                let map = self.store.map();
                let slot = Slot::of(&request.name);
                match map.find(&address) {
                    // What went elsewhere before this one was answered must not be overtaken.
                    Some(target) if target.is_up() && map.is_at(slot, &self.primary) => {
                        target.want();
                        let refused = target.store.ask(request);
                        target.store.flush();
                        refused.map(|request| busy(request, &error))
                    }
                    known => {
                        if known.is_none() {
                            self.store.sign(|signs| {
                                signs.wanted.insert(address);
                            });
                        }
                        Some(busy(request, &error))
                    }
                }
            }
            None => {
                if error.code() == Some("CLUSTERDOWN") {
                    self.refused(&error);
                }
                let name = error.is_disconnected().then(|| request.name.clone());
                self.events.answered(Answer {
                    request,
                    result: Err(error),
                });
                // Its node is another one by now, which has no reason of its own to be asked again.
                let node = name.map(|name| self.store.node(&name));
                if let Some(node) = node.filter(|node| *node != self.primary.node) {
                    self.store.sign(|signs| {
                        signs.adrift.insert(node);
                    });
                }
                None
            }
        };
        if let Some(answer) = answer {
            self.events.answered(answer);
        }
    }

    /// It is there, and does nothing: as good as lost, but that it is asked on.
    fn refused(&self, error: &StoreError) {
        if !self.primary.refuses.swap(true, Ordering::AcqRel) {
            self.events.disconnected(self.primary.node, error.clone());
        }
        self.store.sign(|signs| signs.doubted = true);
    }
}

impl Events for Relay {
    fn answered(&self, answer: Answer) {
        let Answer { request, result } = answer;
        match result {
            Err(error) => self.failed(request, error),
            result => {
                self.events.answered(Answer { request, result });
                if self.primary.refuses.swap(false, Ordering::AcqRel) {
                    self.store.sign(|signs| {
                        signs.adrift.insert(self.primary.node);
                    });
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
        self.store.sign(|signs| signs.changed = true);
        let generation = self.primary.next_generation();
        self.events.connected(self.primary.node, generation);
    }

    fn disconnected(&self, _: Node, error: StoreError) {
        // Of one that is new nobody knows whether it can be reached.
        if self.primary.is_up() {
            self.primary.set_up(false);
        }
        self.store.sign(|signs| {
            signs.changed = true;
            signs.doubted = true;
        });
        self.events.disconnected(self.primary.node, error);
    }

    fn closed(&self, _: Node, closing: Option<Closing>) {
        self.events.closed(self.primary.node, closing);
    }

    fn still_disconnected(&self, _: Node, error: StoreError) {
        if self.primary.is_new() {
            self.primary.set_up(false);
            self.store.sign(|signs| signs.changed = true);
        }
        self.events.still_disconnected(self.primary.node, error);
    }
}
