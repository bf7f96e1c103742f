//! Makes the sequences of the vectors from random runs of the comparison, with fixed seeds.

use std::collections::{HashMap, HashSet};

use auto_mutex_difference::{Outcome, Request, START, Subject, apply_rules, run};
use auto_mutex_seam::store::{MemberId, Name, Op, RW_LOCK, Reply, Share, State};

use super::format::{Call, Numbers, Step};

/// One run, of a fresh store.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) title: String,
    pub(super) names: Vec<Name>,
    pub(super) steps: Vec<Step>,
}

impl Sequence {
    pub(super) fn operations(&self) -> usize {
        let operations = self.steps.iter().map(|step| match step {
            Step::Call(call) => call.ops.len(),
            _ => 0,
        });
        operations.sum()
    }
}

/// The files of random sequences: name, content, and minimum number of operations.
pub(super) const THEMES: &[(&str, &str, usize)] = &[
    (
        "mutex",
        "Names with a capacity of 1, whose tickets accept no signals.",
        2000,
    ),
    (
        "semaphore",
        "Semaphores, with signals of the kind `token`.",
        1900,
    ),
    (
        "rw_lock",
        "Readers-writer locks: a capacity of 2^30, readers with one unit, writers with all.",
        1600,
    ),
    (
        "condvar",
        "Condition variables: names with a capacity of 0, with signals of the kinds `one` and `all`.",
        900,
    ),
    (
        "closed",
        "Servers that grant nothing for a while, after a restart or a failover.",
        1200,
    ),
    (
        "crowd",
        "More tickets than fit into the first key, and more than one operation grants or ends.",
        800,
    ),
    (
        "multi",
        "Several names in turn, with the same members.",
        900,
    ),
];

/// Operations with longer texts are left out, and so are replies that list more tickets.
const LONGEST_TEXT: usize = 300;
const LONGEST_CROWD: usize = 12;

/// The random sequences of all themes, in the order of [`THEMES`].
pub(super) fn sequences() -> Vec<Vec<Sequence>> {
    let mut all: Vec<Vec<Sequence>> = vec![Vec::new(); THEMES.len()];
    let wants = |all: &[Vec<Sequence>], theme: usize| {
        all[theme].iter().map(Sequence::operations).sum::<usize>() < THEMES[theme].2
    };
    let index_of = |theme| THEMES.iter().position(|(name, ..)| *name == theme);
    for seed in 1.. {
        if (0..THEMES.len()).all(|theme| !wants(&all, theme)) {
            return all;
        }
        let mut recorder = Recorder::default();
        run(&mut recorder, seed, &mut HashSet::new());
        if recorder.has_lost {
            continue;
        }
        let names: HashSet<_> = recorder.asked().map(|asked| asked.name.clone()).collect();
        let multi = index_of("multi").expect("known");
        if seed % 4 == 0 && names.len() > 1 && wants(&all, multi) {
            let sequence = recorder.sequence(seed, &names, "multi");
            all[multi].push(sequence);
            continue;
        }
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(Name::to_string);
        for name in names {
            let theme = recorder.theme_of(seed, &name);
            let index = index_of(theme).expect("known");
            if wants(&all, index) {
                let sequence = recorder.sequence(seed, &HashSet::from([name]), theme);
                all[index].push(sequence);
            }
        }
    }
    unreachable!("the seeds have no end")
}

/// Executes by the rules, and records.
#[derive(Default)]
struct Recorder {
    names: HashMap<Name, State>,
    listening: HashSet<MemberId>,
    events: Vec<Event>,
    has_lost: bool,
}

enum Event {
    Listen(MemberId, bool),
    Asked(Asked),
}

struct Asked {
    now: u64,
    opens: u64,
    name: Name,
    member: MemberId,
    ops: Vec<Op>,
    /// Whether the reply is short enough for the files.
    is_short: bool,
}

impl Recorder {
    fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.events.iter().filter_map(|event| match event {
            Event::Asked(asked) => Some(asked),
            Event::Listen(..) => None,
        })
    }

    fn shares<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Share> {
        let of_name = self.asked().filter(move |asked| asked.name == *name);
        of_name
            .flat_map(|asked| &asked.ops)
            .filter_map(|op| match op {
                Op::Acquire { share, .. } => Some(share),
                _ => None,
            })
    }

    fn theme_of(&self, seed: u64, name: &Name) -> &'static str {
        let count =
            |is: &dyn Fn(&Share) -> bool| self.shares(name).filter(|share| is(share)).count();
        let all = count(&|_| true);
        // The run puts a crowd on one of its names.
        if seed % 23 == 3 && all > 80 {
            return "crowd";
        }
        if self.asked().any(|asked| asked.opens > 0) {
            return "closed";
        }
        let most = [1, 4, RW_LOCK, 0]
            .into_iter()
            .max_by_key(|capacity| count(&|share| share.capacity == *capacity));
        match most {
            Some(0) => "condvar",
            Some(RW_LOCK) if count(&Share::takes) * 2 < all => "rw_lock",
            Some(1) if count(&Share::takes) * 4 < all => "mutex",
            _ => "semaphore",
        }
    }

    fn sequence(&self, seed: u64, names: &HashSet<Name>, theme: &str) -> Sequence {
        let mut numbers = Numbers::default();
        let mut known: Vec<Name> = Vec::new();
        let mut steps = Vec::new();
        let mut at = 0;
        for event in &self.events {
            match event {
                Event::Listen(member, listens) => steps.push(Step::Listen {
                    at,
                    member: numbers.member(*member),
                    listens: *listens,
                }),
                Event::Asked(asked) => {
                    let since = |time: u64| time.cast_signed() - START.cast_signed();
                    at = since(asked.now);
                    if !names.contains(&asked.name) || !asked.is_short {
                        continue;
                    }
                    let name = known.iter().position(|name| *name == asked.name);
                    let name = name.unwrap_or_else(|| {
                        known.push(asked.name.clone());
                        known.len() - 1
                    });
                    steps.push(Step::Call(Call {
                        at,
                        name,
                        member: numbers.member(asked.member),
                        opens: match asked.opens {
                            0 => 0,
                            opens => since(opens),
                        },
                        ops: asked.ops.iter().map(|op| numbers.op(op)).collect(),
                    }));
                }
            }
        }
        // At the end of a run, the members stop listening, in no particular order.
        while matches!(steps.last(), Some(Step::Listen { .. })) {
            steps.pop();
        }
        let name = |index| Name::from_escaped(&format!("vectors:{theme}%20{index}"));
        Sequence {
            title: format!("random run {seed}"),
            names: (0..known.len()).map(name).collect(),
            steps,
        }
    }

    fn note(&mut self, request: &Request<'_>, ops: &[&Op], outcome: &Outcome) {
        let fits = |op: &&Op| match op {
            Op::Signal {
                signal: auto_mutex_seam::store::Signal::Token(text),
                ..
            } => text.len() < LONGEST_TEXT,
            _ => true,
        };
        let is_short = match &outcome.reply {
            Reply::Info(info) => info.holders.len() + info.waiters.len() <= LONGEST_CROWD,
            _ => ops.iter().all(fits),
        };
        self.events.push(Event::Asked(Asked {
            now: request.now,
            opens: request.opens,
            name: request.name.clone(),
            member: request.member,
            ops: ops.iter().map(|op| (*op).clone()).collect(),
            is_short,
        }));
    }

    fn execute(&mut self, request: &Request<'_>) -> Outcome {
        let state = self.names.entry(request.name.clone()).or_default();
        apply_rules(state, &self.listening, request)
    }
}

impl Subject for Recorder {
    type Kept = State;

    fn reset(&mut self) {}

    fn listen(&mut self, member: MemberId, listens: bool) {
        match listens {
            true => self.listening.insert(member),
            false => self.listening.remove(&member),
        };
        self.events.push(Event::Listen(member, listens));
    }

    fn apply(&mut self, request: &Request<'_>) -> Outcome {
        let outcome = self.execute(request);
        self.note(request, &[request.op], &outcome);
        outcome
    }

    fn pair(&mut self, release: &Request<'_>, acquire: &Request<'_>) -> (Reply, Outcome) {
        let first = self.execute(release);
        let mut last = self.execute(acquire);
        last.messages.splice(0..0, first.messages);
        self.note(acquire, &[release.op, acquire.op], &last);
        (first.reply, last)
    }

    fn keep(&mut self, name: &Name) -> State {
        self.names.get(name).cloned().unwrap_or_default()
    }

    fn lose(&mut self, name: &Name) {
        self.has_lost = true;
        self.names.remove(name);
    }

    fn restore(&mut self, name: &Name, kept: &State) {
        self.names.insert(name.clone(), kept.clone());
    }
}
