//! The nodes, the members and the clock.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::State;
use auto_mutex_core::store::{
    Answer, Instant, MemberId, Message, Mode, Name, RandomId, Request, Share,
};
use auto_mutex_core::testing::Dice;

use super::judge::Judge;
use super::user::User;
use crate::machine::Quorum;
use crate::store::Input;
use crate::tests::{Event as Told, Recorder, Stub, quorum};

pub(super) const NODES: usize = 5;
pub(super) const MEMBERS: usize = 4;
/// How long faults happen, and how long after that every user must make progress.
const WILD: Duration = Duration::from_secs(20);
const CALM: Duration = Duration::from_secs(10);
/// The longest wait without faults.
const PATIENCE: Duration = Duration::from_secs(9);

/// How often the nodes are searched for tickets that no member will release.
const CHECKED_EVERY: Duration = Duration::from_millis(5);

/// A future event.
pub(super) enum Event {
    /// A request to a node, with the number of its connection. If the connection was cut, no answer arrives.
    Request {
        member: usize,
        node: usize,
        request: Request,
        connection: u64,
    },
    Input {
        member: usize,
        input: Input,
        node: usize,
        connection: u64,
    },
    /// A text on the channel of a member at a node; without the number of a connection, a stranger's.
    Text {
        member: usize,
        text: String,
        node: usize,
        connection: Option<u64>,
    },
    Up {
        member: usize,
        node: usize,
    },
    Cut {
        member: usize,
        node: usize,
    },
}

pub(super) struct Node {
    pub(super) names: HashMap<String, State>,
    /// How far the node's clock is ahead (µs).
    pub(super) ahead: u64,
    pub(super) frozen: Instant,
}

pub(super) struct Member {
    pub(super) id: MemberId,
    pub(super) quorum: Quorum,
    stubs: Vec<Arc<Stub>>,
    recorder: Arc<Recorder>,
    /// For each node: how many connections were cut, whether the member is disconnected, its unanswered requests, and
    /// when the last message arrives in each direction.
    pub(super) links: Vec<Link>,
    user: User,
}

#[derive(Default)]
pub(super) struct Link {
    pub(super) connection: u64,
    pub(super) down: bool,
    pub(super) awaited: Vec<Request>,
    pub(super) last: [u64; 2],
}

pub(super) struct World {
    pub(super) now: Instant,
    pub(super) dice: Dice,
    pub(super) nodes: Vec<Node>,
    pub(super) members: Vec<Member>,
    pub(super) events: BTreeMap<(Instant, u64), Event>,
    /// The latest texts on the channels.
    pub(super) heard: VecDeque<String>,
    pub(super) count: u64,
    judge: Judge,
    began: Instant,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        auto_mutex_core::testing::seed(seed);
        let mut dice = Dice(seed);
        let began = Instant::START.after(Duration::from_secs(1000));
        let nodes = (0..NODES).map(|_| Node {
            names: HashMap::new(),
            ahead: dice.below(3) * dice.below(400_000),
            frozen: began,
        });
        let nodes: Vec<_> = nodes.collect();
        let capacity = [1, 1, 2, 4][dice.below(4) as usize];
        let name = Name::from_escaped("m");
        let members = (0..MEMBERS).map(|index| {
            let (quorum, stubs, recorder) = quorum(NODES);
            // Two members always want one unit, and always wait in the queue.
            let odd = index > 1;
            let mode = if odd && dice.below(4) == 0 {
                Mode::Try
            } else {
                Mode::Queue
            };
            let units = 1 + u32::from(odd) * dice.below(u64::from(capacity)) as u32;
            let share = match capacity {
                1 => Share::MUTEX,
                _ => Share::permits(units, capacity),
            };
            Member {
                id: MemberId::random(),
                quorum,
                stubs,
                recorder,
                links: (0..NODES).map(|_| Link::default()).collect(),
                user: User::new(index, name.clone(), share, mode),
            }
        });
        Self {
            members: members.collect(),
            now: began,
            dice,
            nodes,
            events: BTreeMap::new(),
            heard: VecDeque::new(),
            count: 0,
            judge: Judge::default(),
            began,
        }
    }

    pub(super) fn run(mut self) {
        let calm = self.began.after(WILD);
        let end = calm.after(CALM);
        while self.now < end {
            if self.now < calm {
                self.trouble();
            }
            self.step();
            if self
                .now
                .as_nanos()
                .is_multiple_of(CHECKED_EVERY.as_nanos() as u64)
            {
                self.nothing_is_left();
            }
            if self.now > calm.after(PATIENCE) {
                for member in self.members.iter().filter(|member| member.user.gets_on()) {
                    let waited = member.user.waited(self.now);
                    assert!(waited < PATIENCE, "user {} starves", member.user.index);
                }
            }
        }
        // Other users are not checked: a user that wants several units, or does not wait, may find the lock taken every
        // time.
        let patient = self.members.iter().filter(|member| member.user.gets_on());
        let turns: Vec<_> = patient.map(|member| member.user.turns).collect();
        let grants = self.judge.grants;
        assert!(
            grants > 50 && turns.iter().all(|&turns| turns > 5),
            "{grants}: {turns:?}"
        );
    }

    /// Advances the clock by a moment.
    fn step(&mut self) {
        self.now = self.now.after(Duration::from_micros(200));
        while let Some(first) = self.events.first_entry()
            && first.key().0 <= self.now
        {
            let event = first.remove();
            self.happens(event);
        }
        for index in 0..MEMBERS {
            let member = &mut self.members[index];
            let asked = member.user.due(self.now, &mut self.judge, &mut self.dice);
            self.feed(index, asked.map(Input::Asked));
        }
    }

    /// Passes events to a member, and the member's requests to the network.
    pub(super) fn feed(&mut self, index: usize, input: Option<Input>) {
        let member = &mut self.members[index];
        member.quorum.nodes.now = self.now;
        let mut inputs: Vec<_> = input.into_iter().collect();
        loop {
            for input in inputs.drain(..) {
                member.quorum.take(input);
            }
            member.quorum.tick();
            for event in member.recorder.take() {
                let tools = (&mut self.judge, &mut self.dice);
                let asked = match event {
                    Told::Answer(Answer { request, result }) => {
                        member.user.answered(&request.op, result, self.now, tools)
                    }
                    Told::Told(Message::Ask { ticket }) => member.user.told(ticket, self.now),
                    Told::Connected(true) => member.user.reconnected(self.now),
                    _ => None,
                };
                inputs.extend(asked.map(Input::Asked));
            }
            if inputs.is_empty() {
                break;
            }
        }
        for node in 0..NODES {
            let requests = self.members[index].stubs[node].take();
            for request in requests {
                self.send(index, node, request);
            }
        }
    }
}
