//! [`Rig`]: one member with stores as nodes, whose answers the test controls, for sequences that need exact timing.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::quorum::{Effect, Env, Input, State, Step};
use crate::{
    Answer, Dice, Instant, LIMITS, Lease, MemberId, Message, Mode, NameRecord, NodeChange, Op,
    Reply, Request, RequestId, Share, StoreError, StoreErrorKind, Ticket,
};

pub(super) const LEASE: Duration = Duration::from_millis(1500);
pub(super) const NAME: u8 = 1;

/// How a node handles its requests.
#[derive(Clone, PartialEq)]
pub(super) enum Way {
    Answers,
    /// The node executes its requests, but its answers are lost with the connection.
    LosesAnswers,
    /// The node keeps its requests: it neither executes nor answers them.
    Freezes,
    /// The network delays the requests, and the connection ends: the requests arrive much later.
    Delays,
    Refuses,
}

pub(super) struct Rig {
    pub(super) quorum: State<u8>,
    pub(super) now: Instant,
    pub(super) names: Vec<BTreeMap<u8, crate::State>>,
    /// How far the clocks of the nodes are ahead (µs).
    pub(super) ahead: Vec<u64>,
    pub(super) ways: Vec<Way>,
    pub(super) kept: Vec<(usize, Request<u8>)>,
    sent: Vec<(usize, Request<u8>)>,
    /// What the member was told since it last asked.
    pub(super) told: Vec<Effect<u8>>,
    pub(super) dice: Dice,
    id: MemberId,
}

impl Rig {
    pub(super) fn new(nodes: usize) -> Self {
        let (mut dice, mut effects) = (Dice(1), Vec::new());
        let now = Instant::START.after(Duration::from_secs(1000));
        let mut env = Env {
            now,
            limits: &LIMITS,
            random: &mut || dice.bytes(),
        };
        Self {
            quorum: State::new(vec![true; nodes], &mut env, &mut effects),
            now,
            names: vec![BTreeMap::new(); nodes],
            ahead: vec![0; nodes],
            ways: vec![Way::Answers; nodes],
            kept: Vec::new(),
            sent: Vec::new(),
            told: Vec::new(),
            id: dice.member(),
            dice,
        }
    }

    /// A new ticket.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.dice.ticket()
    }

    pub(super) fn execute(&mut self, node: usize, request: &Request<u8>) -> Reply {
        let env = crate::Env {
            now: self.micros(node),
            grants_from: 0,
            member: self.id,
            limits: &LIMITS,
            hears: &|_| true,
        };
        let state = self.names[node].entry(request.name).or_default();
        state.on(&request.op, &env, &mut Vec::new())
    }

    /// A node's time.
    fn micros(&self, node: usize) -> u64 {
        self.now.as_nanos() / 1000 + self.ahead[node]
    }

    fn on(&mut self, input: Input<u8>) {
        self.step(|step| step.run(input));
    }

    /// Does something in the middle of a step.
    pub(super) fn step<T>(&mut self, run: impl FnOnce(&mut Step<'_, '_, u8>) -> T) -> T {
        let (dice, mut effects) = (&mut self.dice, Vec::new());
        let mut env = Env {
            now: self.now,
            limits: &LIMITS,
            random: &mut || dice.bytes(),
        };
        let result = run(&mut self.quorum.step(&mut env, &mut effects));
        for effect in effects {
            match effect {
                Effect::Send { node, request } => self.sent.push((node, request)),
                effect => self.told.push(effect),
            }
        }
        result
    }

    pub(super) fn take(&mut self, input: Input<u8>) {
        self.on(input);
        self.on(Input::Due);
        while !self.sent.is_empty() {
            for (node, request) in core::mem::take(&mut self.sent) {
                self.arrive(node, request);
            }
            self.on(Input::Due);
        }
    }

    fn arrive(&mut self, node: usize, request: Request<u8>) {
        let cut = || Err(StoreError::disconnected("cut"));
        let result = match self.ways[node] {
            Way::Answers => Ok(self.execute(node, &request)),
            Way::LosesAnswers => {
                self.execute(node, &request);
                cut()
            }
            Way::Refuses => Err(StoreError::new(StoreErrorKind::Busy, "a script runs")),
            Way::Delays => {
                self.kept.push((node, request.clone()));
                cut()
            }
            Way::Freezes => return self.kept.push((node, request)),
        };
        let answer = Answer { request, result };
        self.on(Input::Answered { node, answer });
    }

    /// Submits `op`, and returns the answer if it comes at once.
    pub(super) fn ask(&mut self, op: Op) -> Option<Result<Reply, StoreError>> {
        self.told.clear();
        let (name, id) = (NAME, RequestId(7));
        self.take(Input::Asked(Request { name, op, id }));
        self.answer()
    }

    pub(super) fn answer(&self) -> Option<Result<Reply, StoreError>> {
        self.told.iter().find_map(|effect| match effect {
            Effect::Answer(answer) => Some(answer.result.clone()),
            _ => None,
        })
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.take(Input::Due);
    }

    pub(super) fn down(&mut self, node: usize) {
        let change = NodeChange::Disconnected(StoreError::disconnected("cut"));
        self.take(Input::Changed { node, change });
    }

    pub(super) fn up(&mut self, node: usize) {
        self.ways[node] = Way::Answers;
        let change = NodeChange::Connected { again: true };
        self.take(Input::Changed { node, change });
    }

    /// Returns the state of the name on `node`.
    pub(super) fn inspect(&self, node: usize) -> NameRecord {
        let micros = self.micros(node);
        let state = self.names[node].get(&NAME);
        let record = state.map(|state| state.inspect(micros, 0, &LIMITS));
        record.unwrap_or_default()
    }

    /// Returns on how many nodes `ticket` holds or waits.
    pub(super) fn on_nodes(&self, ticket: Ticket) -> usize {
        let records = (0..self.names.len()).map(|node| self.inspect(node));
        let has = |record: &NameRecord| {
            let mut all = record.holders.iter().chain(&record.waiters);
            all.any(|found| found.ticket == ticket)
        };
        records.filter(has).count()
    }
}

pub(super) fn acquire(ticket: Ticket, counter: u64, capacity: u32) -> Op {
    Op::Acquire {
        lease: Lease::of(ticket, counter, LEASE),
        share: match capacity {
            0 => Share::NOTIFICATION,
            1 => Share::MUTEX,
            _ => Share::permits(1, capacity),
        },
        mode: Mode::Queue,
        meta: "t".into(),
    }
}

pub(super) fn touch(ticket: Ticket, counter: u64) -> Op {
    Op::Touch {
        lease: Lease::of(ticket, counter, LEASE),
        units: 0,
    }
}

pub(super) fn adopt(old: Ticket, ticket: Ticket, counter: u64) -> Op {
    Op::Adopt {
        old,
        lease: Lease::of(ticket, counter, LEASE),
        meta: "t".into(),
    }
}

pub(super) fn release(ticket: Ticket, used: u64) -> Op {
    Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: false,
        used,
    }
}

/// Makes the message of a notification from `node`, which has this token there.
pub(super) fn notification(node: usize, ticket: Ticket, token: u64) -> Input<u8> {
    let grant = Message::Grant {
        ticket,
        token,
        hold: LEASE,
        counter: 1,
        signal: Some("s".into()),
    };
    Input::Told {
        node,
        name: NAME,
        message: grant,
    }
}
