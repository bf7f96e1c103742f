//! The network: messages are late, connections are cut, nodes freeze for a while, or lose their data.

use std::time::Duration;

use auto_mutex_protocol::quorum::Input;
use auto_mutex_protocol::{
    Answer, Env, Instant, LIMITS, MemberId, NodeChange, Op, Reply, Request, Sent, StoreError,
    StoreErrorKind,
};

use super::user::LEASE;
use super::world::{Event, Heard, MEMBERS, Member, NODES, What, World};

/// How many messages a stranger remembers.
const HEARD: usize = 64;

/// The connection of a member to a node, and what is in flight, each with the time when it arrives.
pub(super) type Link = auto_mutex_protocol::Link<u8, Heard, Instant>;

impl World {
    pub(super) fn send(&mut self, member: usize, node: usize, request: Request<u8>) {
        let last = |link: &Link| Some(link.requests.back()?.1);
        let at = self.arrival(member, node, last);
        if let Some(request) = self.members[member].links[node].send(request, at) {
            let answer = request.failed(StoreError::disconnected("cut"));
            let at = self.now.after(Duration::from_micros(50));
            self.later(at, (member, node), What::Failed(answer));
        }
    }

    /// When the next message arrives: after the connection's earlier messages in this direction.
    fn arrival(
        &mut self,
        member: usize,
        node: usize,
        last: impl Fn(&Link) -> Option<Instant>,
    ) -> Instant {
        let delay = match self.dice.below(40) {
            0 => self.dice.below(60_000),
            _ => 20 + self.dice.below(400),
        };
        let at = self.now.after(Duration::from_micros(delay));
        let at = at.max(self.nodes[node].frozen);
        let last = last(&self.members[member].links[node]);
        last.map_or(at, |last| at.max(last.after(Duration::from_nanos(1))))
    }

    /// When something arrives from a node at a member.
    fn arrival_there(&mut self, member: usize, node: usize) -> Instant {
        self.arrival(member, node, |link| {
            let answer = link.answers.back().map(|sent| sent.1);
            answer.max(link.messages.last().map(|sent| sent.1))
        })
    }

    /// What arrives next: when, between which member and node, and of which kind.
    pub(super) fn next_arrival(&self) -> Option<(Instant, usize, usize, usize)> {
        let members = self.members.iter().enumerate();
        let links = members.flat_map(|(member, it)| {
            let links = it.links.iter().enumerate();
            links.map(move |(node, link)| (member, node, link.next()))
        });
        let kinds = links.flat_map(|(member, node, next)| {
            let kinds = next.into_iter().enumerate();
            kinds.filter_map(move |(kind, at)| Some((at?, member, node, kind)))
        });
        kinds.min()
    }

    pub(super) fn arrives(&mut self, member: usize, node: usize, kind: usize) {
        match self.members[member].links[node].take(kind) {
            Some(Sent::Request(request)) => {
                let result = match self.now < self.calm && self.dice.one_in(200) {
                    true => Err(StoreErrorKind::Busy.into()),
                    false => Ok(self.execute(member, node, request.name, &request.op)),
                };
                let answer = Answer { request, result };
                let at = self.arrival_there(member, node);
                let answers = &mut self.members[member].links[node].answers;
                answers.push_back((answer, at));
            }
            Some(Sent::Late(name, op)) => drop(self.execute(member, node, name, &op)),
            Some(Sent::Answer(answer)) => self.feed(member, Some(Input::Answered { node, answer })),
            Some(Sent::Message(heard)) => self.hear(member, node, heard),
            None => {}
        }
    }

    pub(super) fn happens(&mut self, Event { member, node, what }: Event) {
        match what {
            What::Failed(answer) => self.feed(member, Some(Input::Answered { node, answer })),
            What::Repeat(heard) => {
                if self.members[member].links[node].connected {
                    self.hear(member, node, heard);
                }
            }
            What::Up => {
                let frozen = self.nodes[node].frozen;
                if self.now < frozen {
                    return self.later(frozen, (member, node), What::Up);
                }
                self.members[member].links[node].connected = true;
                let closed = NodeChange::Closed(self.nodes[node].closed(self.now));
                for change in [closed, NodeChange::Connected { again: true }] {
                    self.feed(member, Some(Input::Changed { node, change }));
                }
            }
            What::Cut => self.cut(member, node, true),
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

    fn execute(&mut self, member: usize, node: usize, name: u8, op: &Op) -> Reply {
        let hears = |it: &Member| (it.id, it.links[node].connected);
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
        let state = self.nodes[node].names.entry(name).or_default();
        let reply = state.on(op, &env, &mut messages);
        for (to, message) in messages {
            let Some(index) = index_of(to) else {
                continue;
            };
            let heard = (name, message);
            if self.heard.len() == HEARD {
                self.heard.pop_front();
            }
            self.heard.push_back(heard.clone());
            let at = self.arrival_there(index, node);
            self.members[index].links[node].tell(heard, at);
        }
        reply
    }

    /// Sometimes cuts a connection, freezes a node, or restarts it.
    pub(super) fn trouble(&mut self) {
        if self.dice.one_in(12) {
            self.repeat();
        }
        if self.dice.one_in(30) {
            let (member, node) = (self.dice.roll(MEMBERS), self.dice.roll(NODES));
            self.cut(member, node, true);
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
            self.later(at, (member, node), What::Repeat(heard.clone()));
        }
    }

    /// What arrives in the meantime is executed afterwards, in the same order. A node that stands still goes on no
    /// sooner because it stops again.
    fn freeze(&mut self, node: usize, span: Duration) {
        let frozen = self.now.after(span).max(self.nodes[node].frozen);
        self.nodes[node].frozen = frozen;
        for member in &mut self.members {
            let link = &mut member.links[node];
            let requests = link.requests.iter_mut().map(|sent| &mut sent.1);
            for at in requests.chain(link.late.iter_mut().map(|sent| &mut sent.1)) {
                *at = frozen.max(*at);
            }
        }
    }

    /// A node loses its data, and grants nothing until all leases have ended that it may have granted.
    fn restart(&mut self, node: usize) {
        let grants_from = self.micros(node) + LEASE.as_micros() as u64;
        self.nodes[node].restart(self.now.after(LEASE), grants_from);
        for member in 0..MEMBERS {
            self.members[member].links[node].late.clear();
            self.cut(member, node, false);
        }
    }

    /// Cuts a connection. Perhaps requests in flight still arrive at the node, but its answers get lost.
    fn cut(&mut self, member: usize, node: usize, arrive: bool) {
        let link = &mut self.members[member].links[node];
        if !link.connected {
            return;
        }
        let error = StoreError::disconnected("cut");
        for request in link.break_off(|at| arrive.then_some(at)) {
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
    use auto_mutex_protocol::{Lease, Mode, RequestId, Share};

    /// No user uses it.
    const OTHER: u8 = 2;

    /// Otherwise a release would overtake the acquire of its ticket, and the node would keep the ticket.
    #[test]
    fn requests_keep_their_order_when_a_node_freezes_twice() {
        let mut world = World::new(1);
        // Nothing fails.
        world.calm = world.now;
        let ticket = world.dice.ticket();
        // The first member is not connected yet.
        let send = |world: &mut World, op| {
            let (name, id) = (OTHER, RequestId(0));
            world.send(1, 0, Request { name, op, id });
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
