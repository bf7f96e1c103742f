//! Every state of a small quorum: members that try to get a lock, a network, and broken connections.
//!
//! No step is forced: requests and answers take any time, and a member's timer may run at any time. The clocks of the
//! nodes stand still, so that no lease ends there: whatever the members' clocks say, only one may hold.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use auto_mutex_protocol::quorum::{self, Effect, Env, Input};
use auto_mutex_protocol::{
    Answer, Instant, LIMITS, Lease, MemberId, Mode, NodeChange, Op, Reply, Request, RequestId,
    Share, State, StoreError, Ticket,
};
use stateright::{Model, Property};

use super::properties::{EXCLUSION, RELEASED, TOKENS};
use super::world::NAME;

/// Each member gets the lock in some state.
pub const POSSIBLE: &str = "each member can get the lock";

const LEASE: Duration = Duration::from_secs(2);
/// The nodes' time, in microseconds.
const PRESENT: u64 = 1_000_000;

/// What may happen.
#[derive(Clone, Debug)]
pub struct Small {
    /// How many members there are.
    pub members: usize,
    /// How many nodes.
    pub nodes: usize,
    /// How often the connection of the first member to the first node may break.
    pub breaks: u8,
    /// How often the timers of a member may run.
    pub timers: u8,
    /// Whether a holder renews its lease once.
    pub renews: bool,
    /// Whether a request is answered as soon as it is executed, unless its connection is broken.
    pub prompt: bool,
}

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    nodes: Vec<State>,
    members: Vec<Member>,
    breaks: u8,
    /// The last token that a member was granted, and whether each was greater than the one before.
    token: (u64, bool),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Member {
    rounds: quorum::State<u8>,
    stage: Stage,
    has_held: bool,
    now: Instant,
    timers: u8,
    /// How many numbers it has drawn.
    drawn: u8,
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Rests,
    Asks,
    /// Whether it has renewed its lease.
    Holds(bool),
    Leaves,
    Done,
}

/// No node has anything to tell.
type Link = auto_mutex_protocol::Link<u8, Infallible, ()>;

/// A step, of a member and perhaps with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    Ask(usize),
    Renew(usize),
    Leave(usize),
    Timer(usize),
    Execute(usize, usize),
    Reply(usize, usize),
    Break(usize, usize),
    Connect(usize, usize),
    Late(usize, usize),
}

impl Small {
    fn ticket(member: usize) -> Ticket {
        Ticket::of_public(1 + member as u64)
    }

    fn op(&self, member: usize, stage: Stage) -> Op {
        let ticket = Self::ticket(member);
        match stage {
            Stage::Rests => Op::Acquire {
                lease: Lease::of(ticket, 1, LEASE),
                share: Share::MUTEX,
                mode: Mode::Try,
                meta: "".into(),
            },
            Stage::Holds(_) if self.renews => Op::Touch {
                lease: Lease::of(ticket, 2, LEASE),
                units: 0,
            },
            _ => Op::Release {
                ticket,
                park: Duration::ZERO,
                tomb: false,
                used: 0,
            },
        }
    }
}

impl World {
    fn ask(&mut self, member: usize, op: Op) {
        let (name, id) = (NAME, RequestId(0));
        self.feed(member, Input::Asked(Request { name, op, id }));
    }

    fn feed(&mut self, index: usize, input: Input<u8>) {
        let mut inputs = VecDeque::from([input]);
        let mut effects = Vec::new();
        while let Some(input) = inputs.pop_front() {
            let Member {
                rounds, now, drawn, ..
            } = &mut self.members[index];
            let mut env = Env {
                now: *now,
                limits: &LIMITS,
                random: &mut || {
                    *drawn += 1;
                    [*drawn; 16]
                },
            };
            rounds.on(input, &mut env, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send { node, request } => {
                        inputs.extend(self.send(index, node, request));
                    }
                    Effect::Answer(answer) => self.answered(index, &answer),
                    _ => {}
                }
            }
        }
    }

    /// Nobody waits for a release, so signals are as good as executed.
    fn send(&mut self, index: usize, node: usize, request: Request<u8>) -> Option<Input<u8>> {
        let link = &mut self.members[index].links[node];
        let answer = if link.connected && request.name != NAME {
            let result = Ok(Reply::Count(0));
            Answer { request, result }
        } else {
            let failed = link.send(request, ())?;
            failed.failed(StoreError::disconnected("down"))
        };
        Some(Input::Answered { node, answer })
    }

    fn answered(&mut self, index: usize, Answer { request, result }: &Answer<u8>) {
        let member = &mut self.members[index];
        member.stage = match (member.stage, result) {
            (Stage::Asks, Ok(Reply::Granted { token, .. })) => {
                self.token = (*token, self.token.1 && self.token.0 < *token);
                member.has_held = true;
                Stage::Holds(false)
            }
            (Stage::Asks, _) => Stage::Done,
            // Otherwise the holder would ask again.
            (Stage::Holds(_), Ok(reply)) if !matches!(reply, Reply::Granted { .. }) => Stage::Done,
            (Stage::Leaves, _) if request.op.lease().is_none() => Stage::Done,
            (stage, _) => stage,
        };
    }

    fn execute(&mut self, member: usize, node: usize, op: &Op) -> Reply {
        let env = auto_mutex_protocol::Env {
            now: PRESENT,
            grants_from: 0,
            member: MemberId::from_random([member as u8; 16]),
            limits: &LIMITS,
            hears: &|_| false,
        };
        self.nodes[node].on(op, &env, &mut Vec::new())
    }

    fn is_left(&self, node: usize, ticket: Ticket) -> bool {
        let knows = |member: &Member| {
            let link = &member.links[node];
            let requests = link.requests.iter().map(|(request, ())| &request.op);
            let mut coming = requests.chain(link.late.iter().map(|((_, op), ())| op));
            member.rounds.may_be_on(node, ticket) || coming.any(|op| op.ticket() == Some(ticket))
        };
        !self.members.iter().any(knows)
    }
}

impl Model for Small {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let now = Instant::START.after(Duration::from_secs(1));
        let member = |_| {
            let mut env = Env {
                now,
                limits: &LIMITS,
                random: &mut || [0; 16],
            };
            let connected = vec![true; self.nodes];
            Member {
                rounds: quorum::State::new(connected, &mut env, &mut Vec::new()),
                stage: Stage::Rests,
                has_held: false,
                now,
                timers: self.timers,
                drawn: 0,
                links: vec![Link::new(true); self.nodes],
            }
        };
        vec![World {
            nodes: vec![State::default(); self.nodes],
            members: (0..self.members).map(member).collect(),
            breaks: self.breaks,
            token: (0, true),
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (index, member) in world.members.iter().enumerate() {
            match member.stage {
                Stage::Rests => actions.push(Action::Ask(index)),
                // A call may give up.
                Stage::Asks | Stage::Holds(true) => actions.push(Action::Leave(index)),
                Stage::Holds(false) => {
                    actions.push(Action::Leave(index));
                    actions.extend(self.renews.then_some(Action::Renew(index)));
                }
                Stage::Leaves | Stage::Done => {}
            }
            if member.timers > 0 && member.rounds.next_due().is_some() {
                actions.push(Action::Timer(index));
            }
            for (node, link) in member.links.iter().enumerate() {
                let mut may = |can: bool, action: Action| actions.extend(can.then_some(action));
                may(!link.requests.is_empty(), Action::Execute(index, node));
                may(!link.answers.is_empty(), Action::Reply(index, node));
                may(!link.late.is_empty(), Action::Late(index, node));
                may(!link.connected, Action::Connect(index, node));
                // All members and nodes are alike.
                let breaks = link.connected && world.breaks > 0 && index + node == 0;
                may(breaks, Action::Break(index, node));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Ask(member) => {
                next.members[member].stage = Stage::Asks;
                next.ask(member, self.op(member, Stage::Rests));
            }
            Action::Renew(member) => {
                next.members[member].stage = Stage::Holds(true);
                next.ask(member, self.op(member, Stage::Holds(false)));
            }
            Action::Leave(member) => {
                next.members[member].stage = Stage::Leaves;
                next.ask(member, self.op(member, Stage::Leaves));
            }
            Action::Timer(index) => {
                let member = &mut next.members[index];
                member.timers -= 1;
                member.now = member.rounds.next_due()?.max(member.now);
                next.feed(index, Input::Due);
            }
            Action::Execute(member, node) => {
                let (request, ()) = next.members[member].links[node].requests.pop_front()?;
                let result = Ok(next.execute(member, node, &request.op));
                let answer = Answer { request, result };
                if self.prompt {
                    next.feed(member, Input::Answered { node, answer });
                } else {
                    let link = &mut next.members[member].links[node];
                    link.answers.push_back((answer, ()));
                }
            }
            Action::Reply(member, node) => {
                let (answer, ()) = next.members[member].links[node].answers.pop_front()?;
                next.feed(member, Input::Answered { node, answer });
            }
            Action::Break(member, node) => {
                next.breaks -= 1;
                let error = StoreError::disconnected("cut");
                for request in next.members[member].links[node].break_off(Some) {
                    let answer = request.failed(error.clone());
                    next.feed(member, Input::Answered { node, answer });
                }
                let change = NodeChange::Disconnected(error);
                next.feed(member, Input::Changed { node, change });
            }
            Action::Connect(member, node) => {
                next.members[member].links[node].connected = true;
                let change = NodeChange::Connected { again: true };
                next.feed(member, Input::Changed { node, change });
            }
            Action::Late(member, node) => {
                let ((_, op), ()) = next.members[member].links[node].late.remove(0);
                next.execute(member, node, &op);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(EXCLUSION, |_, world: &World| {
                let holds = |member: &&Member| matches!(member.stage, Stage::Holds(_));
                world.members.iter().filter(holds).count() <= 1
            }),
            Property::always(TOKENS, |_, world: &World| world.token.1),
            Property::always(RELEASED, |_, world: &World| {
                (0..world.nodes.len()).all(|node| {
                    let record = world.nodes[node].inspect(PRESENT, 0, &LIMITS);
                    let mut holders = record.holders.iter();
                    !holders.any(|holder| world.is_left(node, holder.ticket))
                })
            }),
            Property::sometimes(POSSIBLE, |_, world: &World| {
                world.members.iter().all(|member| member.has_held)
            }),
        ]
    }
}
