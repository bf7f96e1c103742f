//! One run: a few members use a few names, stop listening, and crash. Time passes, and sometimes the clock is stepped
//! back.

mod trouble;

use std::collections::HashSet;

use auto_mutex_seam::store::{MemberId, Message, NameRecord, Op, Reply, Ticket};
use auto_mutex_seam::testing::Dice;

use super::both::{Both, Snapshot};
use super::judge::Judge;
use super::notes::{Trail, kinds};
use super::ops::Use;
use super::{Outcome, Subject};

const STEPS: u32 = 250;
/// The time at which each run starts.
pub const START: u64 = 1_795_000_000_000_000;
/// A time after which nothing of a run is left.
const LATER: u64 = 40_000_000_000;

/// Makes the run of `seed`; adds the kinds of operations, replies and messages to `seen`.
pub fn run(subject: &mut impl Subject, seed: u64, seen: &mut HashSet<String>) {
    run_beside(true, subject, seed, seen);
}

/// Like [`run`], but only the judge checks the outcomes, without comparing them with the rules.
pub fn run_by_judge(subject: &mut impl Subject, seed: u64) {
    run_beside(false, subject, seed, &mut HashSet::new());
}

fn run_beside(model: bool, subject: &mut impl Subject, seed: u64, seen: &mut HashSet<String>) {
    let mut play = Play::new(subject, seed);
    play.model = model;
    if seed % 23 == 3 {
        play.herd(seen);
    }
    for step in 0..STEPS {
        play.step(step, seen);
    }
    play.end();
}

/// A client, with the tickets that it uses.
struct Client {
    member: MemberId,
    tickets: Vec<Ticket>,
}

impl Client {
    fn new(dice: &mut Dice, tickets: usize) -> Self {
        Self {
            member: dice.member(),
            tickets: (0..tickets).map(|_| dice.ticket()).collect(),
        }
    }
}

struct Play<'a, S: Subject> {
    both: Both<'a, S>,
    dice: Dice,
    now: u64,
    /// The time before which nothing is granted, according to most members.
    closed_until: u64,
    /// The same time according to the member of the next operation.
    opens: u64,
    crowd: bool,
    /// A failover closes the store now and then.
    closes: bool,
    /// The store loses its data now and then.
    forgets: bool,
    /// The outcomes are compared with those by the rules, in addition to the judge's checks.
    model: bool,
    /// A snapshot that the store may return to, with the index of its name.
    kept: Option<(usize, Snapshot<S::Kept>, Judge)>,
    judges: Vec<Judge>,
    clients: Vec<Client>,
    uses: Vec<Use>,
    /// The state of each name after the last operation.
    infos: Vec<NameRecord>,
    /// For each name, the times at which something in its state ends.
    ends: Vec<Vec<u64>>,
    trail: Trail,
}

impl<'a, S: Subject> Play<'a, S> {
    fn new(subject: &'a mut S, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let crowd = seed.is_multiple_of(2);
        let retains = seed % 16 >= 8;
        let names = 1 + dice.below(3) as usize;
        let mut both = Both::new(subject, names);
        let tickets = if crowd { 5 } else { 1 + dice.below(4) as usize };
        let clients: Vec<_> = (0..3).map(|_| Client::new(&mut dice, tickets)).collect();
        for client in &clients {
            both.listen(client.member, true);
        }
        Self {
            both,
            now: START,
            closed_until: 0,
            opens: 0,
            crowd,
            closes: seed % 3 == 1,
            forgets: seed % 5 == 2,
            model: true,
            kept: None,
            judges: vec![Judge::default(); names],
            clients,
            uses: (0..names)
                .map(|_| Use::any(&mut dice, crowd, retains))
                .collect(),
            infos: vec![NameRecord::default(); names],
            ends: vec![Vec::new(); names],
            trail: Trail::new(seed, START),
            dice,
        }
    }

    fn step(&mut self, step: u32, seen: &mut HashSet<String>) {
        self.pass();
        self.trouble();
        self.forget(seen);
        if let Some((index, member, op)) = self.late() {
            let outcome = self.apply(index, member, &op);
            let kinds = kinds(&op, &outcome, &self.infos[index]);
            seen.insert(format!("a late {}", kinds[0]));
            return self.note(index, &op, &outcome, seen);
        }
        let index = self.dice.below(self.uses.len() as u64) as usize;
        let client = self.dice.below(self.clients.len() as u64) as usize;
        // Sometimes the counter is that of an earlier request, as in a late copy.
        let counter = u64::from(step) + if self.dice.one_in(8) { 0 } else { 10 };
        let tickets = &self.clients[client].tickets;
        let holders = self.infos[index].holders.iter().map(|holder| holder.ticket);
        let holding: Vec<_> = holders.filter(|holder| tickets.contains(holder)).collect();
        let op = self.uses[index].op(&mut self.dice, tickets, &holding, counter);
        // Sometimes the operation comes from another member.
        let member = if self.dice.one_in(15) {
            let strangers: Vec<_> = self.clients.iter().map(|client| client.member).collect();
            self.dice.of(&strangers)
        } else {
            self.clients[client].member
        };
        let next = self.uses[index].op(&mut self.dice, tickets, &holding, counter + 1);
        if matches!((&op, &next), (Op::Release { .. }, Op::Acquire { .. })) {
            return self.pair(index, member, [op, next], seen);
        }
        let outcome = self.apply(index, member, &op);
        self.note(index, &op, &outcome, seen);
    }

    /// More tickets wait for a name than one operation grants or ends. Others may hold it.
    fn herd(&mut self, seen: &mut HashSet<String>) {
        let index = self.dice.below(self.uses.len() as u64) as usize;
        let time = self.dice.millis(&[2_500, 10_000, 30_000]);
        for step in 0..self.dice.between(80, 200) {
            let ticket = self.dice.ticket();
            let client = self.dice.below(self.clients.len() as u64) as usize;
            self.clients[client].tickets.push(ticket);
            let mut op = self.uses[index].acquire_in_herd(ticket, time);
            if let Op::Acquire { share, .. } = &mut op
                && step == 0
            {
                share.units = share.capacity.max(1);
            }
            self.now += 10;
            let outcome = self.apply(index, self.clients[client].member, &op);
            self.note(index, &op, &outcome, seen);
        }
    }

    /// Applies an operation to both, which must agree.
    fn apply(&mut self, index: usize, member: MemberId, op: &Op) -> Outcome {
        self.trail.asked.push((self.now, index, member, op.clone()));
        let spread = self.dice.one_in(8) && self.now >= self.opens;
        let (model, found) = self.both.apply(self.now, index, member, op, spread);
        self.agree(&model, &found);
        // An inspect changes nothing, not even times that are too late because the clock was stepped back.
        if !matches!(op, Op::Inspect { .. }) {
            let done = [(op, &found.reply)];
            self.judges[index].look(self.now, self.opens, &done, &found);
        }
        found
    }

    fn agree(&self, model: &Outcome, found: &Outcome) {
        if !self.model {
            return;
        }
        assert_eq!(found.reply, model.reply, "its reply, and by the rules");
        assert_eq!(
            found.messages, model.messages,
            "its messages, and by the rules"
        );
        assert_eq!(found.info, model.info, "its state, and by the rules");
    }

    /// Applies a release and an acquire in one step to both.
    fn pair(&mut self, index: usize, member: MemberId, ops: [Op; 2], seen: &mut HashSet<String>) {
        for op in &ops {
            self.trail.asked.push((self.now, index, member, op.clone()));
        }
        let [release, acquire] = &ops;
        let [model, found] = self.both.pair(self.now, index, member, [release, acquire]);
        if self.model {
            assert_eq!(
                found.0, model.0,
                "its reply to the release, and by the rules"
            );
        }
        self.agree(&model.1, &found.1);
        let done = [(release, &found.0), (acquire, &found.1.reply)];
        self.judges[index].look(self.now, self.opens, &done, &found.1);
        let kind = |reply: &Reply| {
            format!("{reply:?}")
                .chars()
                .take_while(|c| c.is_alphabetic())
                .collect::<String>()
        };
        seen.insert(format!("pair {} {}", kind(&found.0), kind(&found.1.reply)));
        self.note(index, acquire, &found.1, seen);
    }

    fn note(&mut self, index: usize, op: &Op, outcome: &Outcome, seen: &mut HashSet<String>) {
        let mut kinds = kinds(op, outcome, &self.infos[index]);
        if self.now < self.opens {
            kinds.iter_mut().for_each(|kind| kind.push_str(", closed"));
        }
        seen.extend(kinds);
        if let (Some(ticket), Reply::Granted { token, .. }) = (op.ticket(), &outcome.reply) {
            self.uses[index].granted(ticket, *token);
        }
        for (_, message) in &outcome.messages {
            if let Message::Grant { ticket, token, .. } = message {
                self.uses[index].granted(*ticket, *token);
            }
        }
        let info = &outcome.info;
        let records = info.holders.iter().chain(&info.waiters);
        self.ends[index] = records
            .map(|record| self.now + record.left.as_micros() as u64)
            .collect();
        self.infos[index] = info.clone();
    }

    /// Lets everything end. A `Delete` then removes the signals, so that only the token is left.
    fn end(mut self) {
        self.now += LATER;
        let member = self.clients[0].member;
        for index in 0..self.uses.len() {
            let info = self.apply(index, member, &Op::Delete).info;
            assert_eq!((info.used, info.signals, info.exists), (0, 0, false));
            self.both.check_rest(index, info.token);
        }
        self.both.end();
    }
}
