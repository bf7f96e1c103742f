//! The network and the server: some messages arrive late, and some are lost.

use std::time::Duration;

use super::world::World;
use crate::base::error::StoreError;
use crate::base::wait::lock;
use crate::store::{Answer, Events, MemberId, Message, NodeChange, Request};

impl World {
    /// The server runs one request of node `index`.
    pub(super) fn execute(&mut self, index: usize, request: Request, reply_reaches: bool) {
        let micros = 1_700_000_000_000_000 + self.now.as_nanos() / 1000;
        let mut pushes = Vec::new();
        let nodes = &self.nodes;
        let mut publish = |to: MemberId, message: Message| {
            let target = nodes
                .iter()
                .position(|node| node.id == to && node.connected && !node.crashed);
            if let Some(target) = target {
                pushes.push((target, message));
            }
            target.is_some()
        };
        let reply = self
            .state
            .apply(micros, 0, nodes[index].id, &request.op, &mut publish);
        self.note(format!(
            "server: {index} {:?} -> {reply:?}, tells {pushes:?}",
            request.op
        ));
        for (target, message) in pushes {
            self.nodes[target].pushes.push_back(message);
        }
        if reply_reaches {
            let answer = Answer {
                request,
                result: Ok(reply),
            };
            self.nodes[index].replies.push_back(answer);
        }
    }

    /// Executes a copy of a request from a broken connection. Drops a copy that is too old, because real copies arrive
    /// before the tombstone ends.
    pub(super) fn execute_late(&mut self, index: usize) {
        if let Some((sent, request)) = self.nodes[index].late.pop()
            && sent.until(self.now) < Duration::from_secs(25)
        {
            self.execute(index, request, false);
        }
    }

    pub(super) fn break_connection(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if !node.connected {
            return;
        }
        node.connected = false;
        node.pushes.clear();
        let mut unanswered: Vec<Request> = node
            .replies
            .drain(..)
            .map(|answer| answer.request)
            .collect();
        for request in lock(&node.wire.out).drain(..) {
            unanswered.push(Request {
                name: request.name.clone(),
                op: request.op.clone(),
                id: request.id,
            });
            if self.dice.chance(50) {
                node.late.push((self.now, request));
            }
        }
        self.log.push(format!(
            "{index} loses its connection, {} unanswered",
            unanswered.len()
        ));
        let error = StoreError::disconnected("cut");
        let member = node.member.clone();
        member.node_changed(
            crate::store::Node::ONLY,
            NodeChange::Disconnected(error.clone()),
        );
        for request in unanswered {
            member.answered(Answer {
                request,
                result: Err(error.clone()),
            });
        }
    }

    pub(super) fn connect(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if node.connected {
            return;
        }
        // Requests that were submitted without a connection fail first.
        let error = StoreError::disconnected("down");
        let unsent = std::mem::take(&mut *lock(&node.wire.out));
        for request in unsent {
            node.member.answered(Answer {
                request,
                result: Err(error.clone()),
            });
        }
        node.connected = true;
        let member = node.member.clone();
        self.note(format!("{index} connects"));
        member.node_changed(
            crate::store::Node::ONLY,
            NodeChange::Connected { again: true },
        );
    }

    pub(super) fn one_step_of_the_network(&mut self, index: usize) {
        match self.dice.roll(3) {
            0 => {
                let next = lock(&self.nodes[index].wire.out).pop_front();
                if let Some(request) = next {
                    if self.nodes[index].connected {
                        self.execute(index, request, true);
                    } else {
                        let error = StoreError::disconnected("down");
                        let member = self.nodes[index].member.clone();
                        member.answered(Answer {
                            request,
                            result: Err(error),
                        });
                    }
                }
            }
            1 if !self.nodes[index].paused => {
                if let Some(answer) = self.nodes[index].replies.pop_front() {
                    self.nodes[index].member.clone().answered(answer);
                }
            }
            2 if !self.nodes[index].paused => {
                if let Some(message) = self.nodes[index].pushes.pop_front() {
                    let name = self.name.clone();
                    self.nodes[index].member.clone().told(&name, message);
                }
            }
            _ => {}
        }
    }
}
