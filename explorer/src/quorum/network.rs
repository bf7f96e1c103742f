//! The network: messages are late, connections are cut, nodes freeze for a while, or lose their data.

use std::time::Duration;

use auto_mutex_protocol::quorum::Input;
use auto_mutex_protocol::{
    Answer, Env, Instant, LIMITS, MemberId, NodeChange, Request, StoreError,
};

use super::user::LEASE;
use super::world::{Event, Heard, MEMBERS, Member, NODES, What, World};

/// How many messages a stranger remembers.
const HEARD: usize = 64;

/// A connection of a member to a node.
#[derive(Default)]
pub(super) struct Link {
    /// How many connections were cut.
    connection: u64,
    down: bool,
    unanswered: Vec<Request<u8>>,
    /// When the last message arrives in each direction.
    last: [u64; 2],
}

impl World {
    pub(super) fn send(&mut self, member: usize, node: usize, request: Request<u8>) {
        let link = &mut self.members[member].links[node];
        if link.down {
            let answer = request.failed(StoreError::disconnected("cut"));
            let at = self.now.after(Duration::from_micros(50));
            return self.later(at, (member, node), What::Answer(answer, None));
        }
        link.unanswered.push(request.clone());
        let what = What::Request(request, link.connection);
        let at = self.arrival(member, node, 0);
        self.later(at, (member, node), what);
    }

    /// When the next message arrives: after the connection's earlier messages in this direction.
    fn arrival(&mut self, member: usize, node: usize, way: usize) -> Instant {
        let delay = match self.dice.below(40) {
            0 => self.dice.below(60_000),
            _ => 20 + self.dice.below(400),
        };
        let at = self.now.after(Duration::from_micros(delay));
        let at = at.max(self.nodes[node].frozen);
        let last = &mut self.members[member].links[node].last[way];
        *last = at.as_nanos().max(*last + 1);
        Instant::from_nanos(*last)
    }

    pub(super) fn happens(&mut self, Event { member, node, what }: Event) {
        let link = &mut self.members[member].links[node];
        match what {
            What::Request(request, connection) => self.execute(member, node, request, connection),
            What::Answer(answer, connection) => {
                if connection.is_some_and(|it| it != link.connection) {
                    return;
                }
                let same = |request: &Request<u8>| *request == answer.request;
                if let Some(index) = link.unanswered.iter().position(same) {
                    link.unanswered.remove(index);
                }
                self.feed(member, Some(Input::Answered { node, answer }));
            }
            What::Message(heard, connection) => {
                let is_other = connection.is_some_and(|it| it != link.connection);
                if !link.down && !is_other {
                    self.hear(member, node, heard);
                }
            }
            What::Up => {
                let frozen = self.nodes[node].frozen;
                if self.now < frozen {
                    return self.later(frozen, (member, node), What::Up);
                }
                link.down = false;
                let closed = NodeChange::Closed(self.nodes[node].closed(self.now));
                for change in [closed, NodeChange::Connected { again: true }] {
                    self.feed(member, Some(Input::Changed { node, change }));
                }
            }
            What::Cut => self.cut(member, node),
        }
    }

    /// A message about a ticket that the member does not know is ignored.
    fn hear(&mut self, member: usize, node: usize, (name, message): Heard) {
        let of = message.ticket().map(|ticket| ticket.public());
        let known = of.and_then(|public| self.members[member].quorum.ticket(public));
        if known == message.ticket() {
            let input = Input::Told {
                node,
                name,
                message,
            };
            self.feed(member, Some(input));
        }
    }

    fn execute(&mut self, member: usize, node: usize, request: Request<u8>, connection: u64) {
        let hears = |it: &Member| (it.id, !it.links[node].down);
        let listening: Vec<_> = self.members.iter().map(hears).collect();
        let index_of = |id: MemberId| listening.iter().position(|it| *it == (id, true));
        let env = Env {
            now: self.micros(node),
            grants_from: self.nodes[node].grants_from,
            member: self.members[member].id,
            limits: &LIMITS,
            hears: &|id| index_of(id).is_some(),
        };
        let mut messages = Vec::new();
        let state = self.nodes[node].names.entry(request.name).or_default();
        let result = Ok(state.on(&request.op, &env, &mut messages));
        for (to, message) in messages {
            let Some(index) = index_of(to) else {
                continue;
            };
            let heard = (request.name, message);
            if self.heard.len() == HEARD {
                self.heard.pop_front();
            }
            self.heard.push_back(heard.clone());
            let connection = self.members[index].links[node].connection;
            let at = self.arrival(index, node, 1);
            self.later(at, (index, node), What::Message(heard, Some(connection)));
        }
        let answer = Answer { request, result };
        let at = self.arrival(member, node, 1);
        self.later(at, (member, node), What::Answer(answer, Some(connection)));
    }

    /// Sometimes cuts a connection, freezes a node, or restarts it.
    pub(super) fn trouble(&mut self) {
        if self.dice.one_in(12) {
            self.repeat();
        }
        if self.dice.one_in(30) {
            let (member, node) = (self.dice.roll(MEMBERS), self.dice.roll(NODES));
            self.cut(member, node);
        }
        if self.dice.one_in(400) {
            let node = self.dice.roll(NODES);
            self.restart(node);
        }
        if self.dice.one_in(120) {
            let (node, span) = (self.dice.roll(NODES), self.dice.below(2_500_000));
            self.freeze(node, Duration::from_micros(span));
            // Some members disconnect before the node continues, which still executes their requests afterwards.
            for member in 0..MEMBERS {
                let after = self.dice.below(2_500_000);
                if after < span {
                    let at = self.now.after(Duration::from_micros(after));
                    self.later(at, (member, node), What::Cut);
                }
            }
        }
    }

    /// A stranger has heard everything, and sends some of it again, perhaps later, to everybody, on all nodes.
    fn repeat(&mut self) {
        let index = self.dice.roll(self.heard.len().max(1));
        let Some(heard) = self.heard.get(index).cloned() else {
            return;
        };
        let delay = Duration::from_micros(self.dice.of(&[0, 1000, 5_000_000]));
        let at = self.now.after(delay);
        for (member, node) in (0..MEMBERS * NODES).map(|all| (all / NODES, all % NODES)) {
            self.later(at, (member, node), What::Message(heard.clone(), None));
        }
    }

    /// What arrives in the meantime is executed afterwards, in the same order. A node that stands still goes on no
    /// sooner because it stops again.
    fn freeze(&mut self, node: usize, span: Duration) {
        let frozen = self.now.after(span).max(self.nodes[node].frozen);
        self.nodes[node].frozen = frozen;
        let events = std::mem::take(&mut self.events).into_iter();
        let delayed = events.map(|((at, count), event)| {
            let waits = event.node == node && event.is_request();
            let at = if waits { at.max(frozen) } else { at };
            ((at, count), event)
        });
        self.events = delayed.collect();
    }

    /// A node loses its data, and grants nothing until all leases have ended that it may have granted.
    fn restart(&mut self, node: usize) {
        let grants_from = self.micros(node) + LEASE.as_micros() as u64;
        self.nodes[node].restart(self.now.after(LEASE), grants_from);
        let reaches = |event: &mut Event| event.node == node && event.is_request();
        self.events.retain(|_, event| !reaches(event));
        for member in 0..MEMBERS {
            self.cut(member, node);
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
        let lost = std::mem::take(&mut link.unanswered);
        let error = StoreError::disconnected("cut");
        for request in lost {
            let answer = request.failed(error.clone());
            self.feed(member, Some(Input::Answered { node, answer }));
        }
        let change = NodeChange::Disconnected(error);
        self.feed(member, Some(Input::Changed { node, change }));
        let back = Duration::from_micros(1000 + self.dice.below(600_000));
        self.later(self.now.after(back), (member, node), What::Up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_mutex_protocol::{Lease, Mode, Op, RequestId, Share};

    /// No user uses it.
    const OTHER: u8 = 2;

    /// Otherwise a release would overtake the acquire of its ticket, and the node would keep the ticket.
    #[test]
    fn requests_keep_their_order_when_a_node_freezes_twice() {
        let mut world = World::new(1);
        let ticket = world.dice.ticket();
        let send = |world: &mut World, op| {
            let (name, id) = (OTHER, RequestId(0));
            world.send(0, 0, Request { name, op, id });
        };
        let acquire = Op::Acquire {
            lease: Lease::of(ticket, 1, LEASE),
            share: Share::MUTEX,
            mode: Mode::Try,
            meta: "".into(),
        };
        send(&mut world, acquire);
        world.freeze(0, Duration::from_millis(500));
        world.freeze(0, Duration::from_millis(10));
        let release = Op::Release {
            ticket,
            park: Duration::ZERO,
            tomb: false,
            used: 0,
        };
        send(&mut world, release);
        world.pass(Duration::from_secs(1));
        let record = world.nodes[0].names[&OTHER].inspect(world.micros(0), 0, &LIMITS);
        assert!(record.exists && record.holders.is_empty(), "{record:?}");
    }
}
