//! The nodes, the members and the clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use auto_mutex_protocol::quorum::{self, Effect, Env, Input};
use auto_mutex_protocol::{
    Answer, Cause, Closed, Dice, Instant, Limits, MemberId, Message, Mode, NodeChange, Op, Request,
    RequestId, Share, SharedStr, Signal, State,
};

use super::Outcome;
use super::network::Link;
use super::properties::{Judge, SERVICE};
use super::user::User;

/// With tickets looked for at each step that no member will ever release.
const LIMITS: Limits = Limits {
    quorum: quorum::Limits {
        sweep: 1,
        ..auto_mutex_protocol::LIMITS.quorum
    },
    ..auto_mutex_protocol::LIMITS
};

/// The name that all members use.
pub(super) const NAME: u8 = 1;
pub(super) const NODES: usize = 5;
pub(super) const MEMBERS: usize = 4;
/// How long faults happen, and how long after that every user must make progress.
const WILD: Duration = Duration::from_secs(20);
const CALM: Duration = Duration::from_secs(10);
/// How long after the one before it each node is connected that a member had not reached.
const OFFLINE: Duration = Duration::from_millis(20);
/// The longest wait without faults.
const PATIENCE: Duration = Duration::from_secs(9);
/// How often each patient user gets the lock at least, even if all nodes have to be up for it.
const LEAST: u32 = 2;
/// How often something may go wrong, and is looked for.
const MOMENT: Duration = Duration::from_millis(5);

/// A future event between a member and a node.
pub(super) struct Event {
    pub(super) member: usize,
    pub(super) node: usize,
    pub(super) what: What,
}

pub(super) enum What {
    /// A request without a connection has failed.
    Failed(Answer<u8>),
    /// A stranger repeats a message.
    Repeat(Heard),
    Up,
    Cut,
}

/// A message, and the name that it is about.
pub(super) type Heard = (u8, Message);

pub(super) struct Node {
    pub(super) names: BTreeMap<u8, State>,
    /// How far the node's clock is ahead (µs).
    ahead: u64,
    pub(super) frozen: Instant,
    /// When it grants again after a restart, and the same in its own time.
    opens: Instant,
    pub(super) grants_from: u64,
}

impl Node {
    pub(super) fn restart(&mut self, opens: Instant, grants_from: u64) {
        self.names.clear();
        (self.opens, self.grants_from) = (opens, grants_from);
    }

    pub(super) fn closed(&self, now: Instant) -> Option<Closed> {
        (now < self.opens).then_some(Closed {
            until: self.opens,
            cause: Cause::Restart,
        })
    }
}

pub(super) struct Member {
    pub(super) id: MemberId,
    pub(super) quorum: quorum::State<u8>,
    /// For each node.
    pub(super) links: Vec<Link>,
    user: User,
}

pub(super) struct World {
    notifies: bool,
    pub(super) now: Instant,
    pub(super) dice: Dice,
    pub(super) nodes: Vec<Node>,
    pub(super) members: Vec<Member>,
    pub(super) events: BTreeMap<(Instant, u64), Event>,
    /// The latest messages on the channels.
    pub(super) heard: VecDeque<Heard>,
    count: u64,
    pub(super) judge: Judge,
    effects: Vec<Effect<u8>>,
    /// When the faults end.
    pub(super) calm: Instant,
    moment: Instant,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self::with(seed, false)
    }

    /// With `notifies`, the users wait for notifications, which never cease.
    pub(super) fn with(seed: u64, notifies: bool) -> Self {
        let mut dice = Dice(seed);
        let began = Instant::START.after(Duration::from_secs(1000));
        let nodes = (0..NODES).map(|_| Node {
            names: BTreeMap::new(),
            ahead: dice.below(3) * dice.below(400_000),
            frozen: began,
            opens: began,
            grants_from: 0,
        });
        let nodes: Vec<_> = nodes.collect();
        let capacity = [1, 1, 2, 4][dice.below(4) as usize];
        let members = (0..MEMBERS).map(|index| {
            // Two members always want one unit, and always wait in the queue.
            let odd = index > 1;
            let mode = if odd && !notifies && dice.below(4) == 0 {
                Mode::Try
            } else {
                Mode::Queue
            };
            let units = 1 + u32::from(odd) * dice.below(u64::from(capacity)) as u32;
            let share = match capacity {
                _ if notifies => Share::NOTIFICATION,
                1 => Share::MUTEX,
                _ => Share::permits(units, capacity),
            };
            let mut env = Env {
                now: began,
                limits: &LIMITS,
                random: &mut || dice.bytes(),
            };
            let connected = [index > 0; NODES];
            let quorum = quorum::State::new(connected, &mut env, &mut Vec::new());
            Member {
                id: dice.member(),
                quorum,
                links: vec![Link::new(index > 0); NODES],
                user: User::new(index, share, mode),
            }
        });
        let members = members.collect();
        // The first member is not connected when it begins.
        let opens = (0..NODES).map(|node| {
            let (member, what) = (0, What::Up);
            let at = began.after(OFFLINE * node as u32);
            ((at, node as u64), Event { member, node, what })
        });
        Self {
            notifies,
            members,
            now: began,
            dice,
            nodes,
            events: opens.collect(),
            heard: VecDeque::new(),
            count: NODES as u64,
            judge: Judge::default(),
            effects: Vec::new(),
            calm: began.after(WILD),
            moment: began,
        }
    }

    /// Until the end, or a property does not hold.
    pub(super) fn run(mut self) -> Outcome {
        self.pass(WILD + CALM);
        let grants = self.judge.grants;
        let turns: Vec<_> = self.patient().map(|user| user.turns).collect();
        let served = turns.iter().all(|&turns| turns >= LEAST);
        let how = || format!("{grants}: {turns:?}");
        self.judge.check(SERVICE, served, how);
        // What a member withdraws is on its way, or pending.
        for index in 0..MEMBERS {
            self.feed(index, Some(Input::Close));
        }
        self.look_for_leftovers();
        Outcome {
            grants,
            broken: self.judge.broken,
        }
    }

    /// Lets a time pass, unless a property does not hold.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now.after(time);
        while self.now < end && self.judge.broken.is_none() {
            self.now = self.next().max(self.now).min(end);
            self.step();
        }
    }

    /// When the next thing happens.
    fn next(&self) -> Instant {
        let events = self.events.first_key_value().map(|((at, _), _)| *at);
        let members = self.members.iter();
        let members = members.map(|it| {
            let due = it.quorum.next_due().unwrap_or(Instant::NEVER);
            due.min(it.user.next_due())
        });
        let arrival = self.next_arrival().map(|next| next.0);
        let all = members.chain(events).chain(arrival).chain([self.moment]);
        all.min().unwrap_or(Instant::NEVER)
    }

    fn step(&mut self) {
        while let Some((at, member, node, kind)) = self.next_arrival()
            && at <= self.now
        {
            self.arrives(member, node, kind);
        }
        while let Some(first) = self.events.first_entry()
            && first.key().0 <= self.now
        {
            let event = first.remove();
            self.happens(event);
        }
        for index in 0..MEMBERS {
            let member = &mut self.members[index];
            let asked = member.user.due(self.now, &mut self.judge, &mut self.dice);
            let due = member.quorum.next_due().is_some_and(|due| due <= self.now);
            if due || asked.is_some() {
                self.feed(index, asked.map(Input::Asked));
            }
        }
        if self.moment <= self.now {
            self.moment = self.now.after(MOMENT);
            self.look();
        }
    }

    fn look(&mut self) {
        if self.now < self.calm {
            self.trouble();
        }
        for index in 0..MEMBERS {
            let asked = self.members[index].user.may_give_up(&mut self.dice);
            if asked.is_some() {
                self.feed(index, asked.map(Input::Asked));
            }
        }
        self.ask();
        self.look_for_leftovers();
        if self.now > self.calm.after(PATIENCE) {
            self.look_for_starving();
        }
    }

    /// Sometimes a member asks something about the name, or notifies a user.
    fn ask(&mut self) {
        let ticket = self.dice.ticket();
        let op = match self.dice.below(40) {
            0 => Op::Inspect { above: 0 },
            1 => Op::Kick {
                token: 0,
                by: SharedStr::EMPTY,
            },
            2 if !self.notifies => Op::Delete,
            // A quorum has none: each must be handed out once.
            3 if !self.notifies => Op::Signal {
                ticket,
                signal: Signal::Token("t".into()),
            },
            2 if self.notifies => Op::Signal {
                ticket,
                signal: Signal::All,
            },
            3..20 if self.notifies => Op::Signal {
                ticket,
                signal: Signal::One,
            },
            _ => return,
        };
        let (name, id) = (NAME, RequestId(MEMBERS as u64));
        let index = self.dice.roll(MEMBERS);
        self.feed(index, Some(Input::Asked(Request { name, op, id })));
    }

    /// Other users may find the lock taken every time, because they want several units, or do not wait.
    fn patient(&self) -> impl Iterator<Item = &User> {
        let users = self.members.iter().map(|member| &member.user);
        users.filter(|user| user.gets_on())
    }

    fn look_for_starving(&mut self) {
        let starves = |user: &&User| user.waited(self.now) >= PATIENCE;
        let starving = self.patient().find(starves).map(|user| user.index);
        let how = || format!("user {starving:?} starves");
        self.judge.check(SERVICE, starving.is_none(), how);
    }

    pub(super) fn later(&mut self, at: Instant, (member, node): (usize, usize), what: What) {
        self.count += 1;
        let event = Event { member, node, what };
        self.events.insert((at, self.count), event);
    }

    /// Passes an input to a member, and what follows from it to its user and to the network.
    pub(super) fn feed(&mut self, index: usize, input: Option<Input<u8>>) {
        let mut inputs: VecDeque<_> = input.into_iter().chain([Input::Due]).collect();
        let mut effects = std::mem::take(&mut self.effects);
        while let Some(input) = inputs.pop_front() {
            let mut env = Env {
                now: self.now,
                limits: &LIMITS,
                random: &mut || self.dice.bytes(),
            };
            let member = &mut self.members[index];
            member.quorum.on(input, &mut env, &mut effects);
            for effect in effects.drain(..) {
                let (user, now) = (&mut self.members[index].user, self.now);
                let asked = match effect {
                    Effect::Send { node, request } => {
                        self.send(index, node, request);
                        None
                    }
                    Effect::Answer(answer) => {
                        user.answered(answer, now, (&mut self.judge, &mut self.dice))
                    }
                    Effect::Tell {
                        message: Message::Ask { ticket },
                        ..
                    } => user.told(ticket, now),
                    Effect::Change(NodeChange::Connected { .. }) => user.reconnected(now),
                    _ => None,
                };
                inputs.extend(asked.map(Input::Asked));
            }
        }
        self.effects = effects;
    }

    /// A node's time, in microseconds.
    pub(super) fn micros(&self, node: usize) -> u64 {
        self.now.as_nanos() / 1000 + self.nodes[node].ahead
    }
}
