//! The network: messages are late, connections are cut, and nodes freeze for a while.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    Answer, Env, Instant, LIMITS, MemberId, Name, NodeChange, Request, open_message, seal,
};

use super::world::{Event, MEMBERS, Member, NODES, World};
use crate::store::Input;

/// How many texts a stranger remembers.
const HEARD: usize = 64;

impl World {
    pub(super) fn send(&mut self, member: usize, node: usize, request: Request) {
        let link = &mut self.members[member].links[node];
        let connection = link.connection;
        if link.down {
            let error = StoreError::disconnected("cut");
            let input = Input::Answered(
                node,
                Answer {
                    request,
                    result: Err(error),
                },
            );
            return self.later(
                self.now.after(Duration::from_micros(50)),
                Event::Input {
                    member,
                    input,
                    node,
                    connection: u64::MAX,
                },
            );
        }
        link.awaited.push(Request {
            name: request.name.clone(),
            op: request.op.clone(),
            id: request.id,
        });
        let at = self.arrives(member, node, 0);
        self.later(
            at,
            Event::Request {
                member,
                node,
                request,
                connection,
            },
        );
    }

    /// Returns when the next message arrives: after the connection's earlier messages in this direction.
    fn arrives(&mut self, member: usize, node: usize, way: usize) -> Instant {
        let delay = match self.dice.below(40) {
            0 => self.dice.below(60_000),
            _ => 20 + self.dice.below(400),
        };
        let at = self
            .now
            .after(Duration::from_micros(delay))
            .max(self.nodes[node].frozen);
        let last = &mut self.members[member].links[node].last[way];
        *last = at.as_nanos().max(*last + 1);
        Instant::from_nanos(*last)
    }

    pub(super) fn later(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    pub(super) fn happens(&mut self, event: Event) {
        match event {
            Event::Request {
                member,
                node,
                request,
                connection,
            } => self.execute(member, node, request, connection),
            Event::Input {
                member,
                input,
                node,
                connection,
            } => {
                let link = &mut self.members[member].links[node];
                if connection != u64::MAX && link.connection != connection {
                    return;
                }
                if let Input::Answered(_, answer) = &input {
                    let id = answer.request.id;
                    let same = |request: &Request| {
                        request.id == id
                            && request.op.ticket() == answer.request.op.ticket()
                            && request.name == answer.request.name
                    };
                    if let Some(index) = link.awaited.iter().position(same) {
                        link.awaited.remove(index);
                    }
                }
                self.feed(member, Some(input));
            }
            Event::Text {
                member,
                text,
                node,
                connection,
            } => {
                let Member { links, quorum, .. } = &self.members[member];
                if links[node].down || connection.is_some_and(|it| it != links[node].connection) {
                    return;
                }
                let find = |_: &Name, public| {
                    let mut tickets = quorum.tickets.keys().copied();
                    tickets.find(|ticket| ticket.public() == public)
                };
                if let Some((name, message)) = open_message(&text, find) {
                    self.feed(member, Some(Input::Told(node, name, message)));
                }
            }
            Event::Up { member, node } => {
                let frozen = self.nodes[node].frozen;
                if self.now < frozen {
                    return self.later(frozen, Event::Up { member, node });
                }
                self.members[member].links[node].down = false;
                self.feed(
                    member,
                    Some(Input::Changed(node, NodeChange::Connected { again: true })),
                );
            }
            Event::Cut { member, node } => self.cut(member, node),
        }
    }

    fn execute(&mut self, member: usize, node: usize, request: Request, connection: u64) {
        let frozen = self.nodes[node].frozen;
        if self.now < frozen {
            // Keeps the order: the request arrives before those that arrive when the node continues.
            let last = Instant::from_nanos(frozen.as_nanos() - 1);
            return self.later(
                last.max(self.now.after(Duration::from_nanos(1))),
                Event::Request {
                    member,
                    node,
                    request,
                    connection,
                },
            );
        }
        let micros = self.now.as_nanos() / 1000 + self.nodes[node].ahead;
        let listening: Vec<_> = self
            .members
            .iter()
            .map(|member| (member.id, member.links[node].down))
            .collect();
        let index_of = |id: MemberId| {
            let mut all = listening.iter();
            all.position(|&(other, down)| other == id && !down)
        };
        let env = Env {
            now: micros,
            grants_from: 0,
            member: self.members[member].id,
            limits: &LIMITS,
            hears: &|id| index_of(id).is_some(),
        };
        let mut messages = Vec::new();
        let names = &mut self.nodes[node].names;
        let state = names.entry(request.name.to_string()).or_default();
        let reply = state.on(&request.op, &env, &mut messages);
        for (to, message) in messages {
            let Some(index) = index_of(to) else {
                continue;
            };
            let text = seal(&request.name, &message);
            if self.heard.len() == HEARD {
                self.heard.pop_front();
            }
            self.heard.push_back(text.clone());
            let connection = Some(self.members[index].links[node].connection);
            let at = self.arrives(index, node, 1);
            self.later(
                at,
                Event::Text {
                    member: index,
                    text,
                    node,
                    connection,
                },
            );
        }
        let input = Input::Answered(
            node,
            Answer {
                request,
                result: Ok(reply),
            },
        );
        let at = self.arrives(member, node, 1);
        self.later(
            at,
            Event::Input {
                member,
                input,
                node,
                connection,
            },
        );
    }

    /// A stranger has heard everything, and sends some of it again, later or changed, to everybody, on all nodes.
    fn forge(&mut self) {
        let heard = self.heard.len() as u64;
        let Some(text) = self.heard.get(self.dice.below(heard.max(1)) as usize) else {
            return;
        };
        let mut words: Vec<_> = text.split(' ').collect();
        let (kind, far) = (["grant", "lost", "near", "ask"], "8000000000000");
        match self.dice.below(4) {
            0 => words[0] = kind[self.dice.below(4) as usize],
            1 if words[0] == "grant" => words[2] = far,
            2 if words[0] == "near" => {
                words.splice(2..2, [far, "1", "2000"]);
                words[0] = "grant";
            }
            _ => {}
        }
        let (text, delay) = (words.join(" "), [0, 1000, 5_000_000]);
        let delay = Duration::from_micros(delay[self.dice.below(3) as usize]);
        for (member, node) in (0..MEMBERS * NODES).map(|all| (all / NODES, all % NODES)) {
            let (text, connection) = (text.clone(), None);
            self.later(
                self.now.after(delay),
                Event::Text {
                    member,
                    text,
                    node,
                    connection,
                },
            );
        }
    }

    /// Sometimes cuts a connection, or freezes a node.
    pub(super) fn trouble(&mut self) {
        if self.dice.below(300) == 0 {
            self.forge();
        }
        match self.dice.below(3000) {
            0..4 => {
                let (member, node) = (
                    self.dice.below(MEMBERS as u64) as usize,
                    self.dice.below(NODES as u64) as usize,
                );
                self.cut(member, node);
            }
            4 => {
                let node = self.dice.below(NODES as u64) as usize;
                let span = Duration::from_micros(self.dice.below(2_500_000));
                self.nodes[node].frozen = self.now.after(span);
                // Some members disconnect before the node continues, which still executes their requests afterwards.
                for member in 0..MEMBERS {
                    let after = Duration::from_micros(self.dice.below(2_500_000));
                    if after < span {
                        self.later(self.now.after(after), Event::Cut { member, node });
                    }
                }
            }
            _ => {}
        }
    }

    /// Cuts a connection. Requests in flight may still arrive at the node, but its answers get lost.
    fn cut(&mut self, member: usize, node: usize) {
        let link = &mut self.members[member].links[node];
        if std::mem::replace(&mut link.down, true) {
            return;
        }
        link.connection += 1;
        link.last = [0; 2];
        let lost = std::mem::take(&mut link.awaited);
        let error = StoreError::disconnected("cut");
        for request in lost {
            let answer = Answer {
                request,
                result: Err(error.clone()),
            };
            self.feed(member, Some(Input::Answered(node, answer)));
        }
        self.feed(
            member,
            Some(Input::Changed(node, NodeChange::Disconnected(error))),
        );
        let back = self
            .now
            .after(Duration::from_micros(1000 + self.dice.below(600_000)));
        self.later(back, Event::Up { member, node });
    }
}
