//! What a search asks for.

use std::time::Duration;

use super::{fresh, record, some_member};
use crate::deadlock::{
    Answer, Effect, Env, Input, Probe, Question, Searches, Wait, WaitId, WaitingHold,
};
use crate::{Instant, LIMITS, NameRecord, Ticket};

const NAME: u8 = 1;
const FIRST: u64 = 17;
const AFTER: Duration = Duration::from_secs(1);

/// A client, and the waits of its tasks.
struct Rig {
    searches: Searches<u8>,
    now: Instant,
    holds: Vec<WaitingHold<u8>>,
}

fn hold(ticket: Ticket, units: u32, after: Ticket) -> WaitingHold<u8> {
    let wait = Wait {
        id: fresh(),
        name: NAME,
        units,
        after: Some(after),
        waited: Duration::from_secs(1),
        meta: "h 1 s".into(),
        fails: false,
    };
    WaitingHold {
        ticket,
        token: 1,
        units: 1,
        held: Duration::from_secs(2),
        meta: "h 1 s".into(),
        waits: vec![wait],
    }
}

impl Rig {
    /// Each of its tasks has one of these holds.
    fn new(holds: Vec<WaitingHold<u8>>) -> Self {
        let mut rig = Self {
            searches: Searches::new(FIRST),
            now: Instant::START,
            holds,
        };
        for hold in rig.holds.clone() {
            let (wait, after) = (hold.waits[0].id, AFTER);
            rig.on(Input::Waits { wait, after });
        }
        rig.now = rig.now.after(AFTER);
        rig
    }

    /// Returns what is left to others.
    fn on(&mut self, input: Input<u8>) -> Vec<Effect<u8>> {
        let (mut left, mut inputs) = (Vec::new(), vec![input]);
        while let Some(input) = inputs.pop() {
            let env = Env {
                now: self.now,
                limits: &LIMITS,
                jittered: &|pause| pause,
            };
            let mut effects = Vec::new();
            self.searches.on(input, &env, &mut effects);
            for effect in effects {
                match effect {
                    Effect::View { pass, wait } => {
                        let holds = self.holds_of(wait);
                        inputs.push(Input::Viewed { pass, wait, holds });
                    }
                    effect => left.push(effect),
                }
            }
        }
        left
    }

    fn holds_of(&self, wait: WaitId) -> Vec<WaitingHold<u8>> {
        let of_task = |hold: &&WaitingHold<u8>| hold.waits[0].id == wait;
        self.holds.iter().filter(of_task).cloned().collect()
    }

    fn inspected(&mut self, above: u32, record: NameRecord) -> Vec<Effect<u8>> {
        self.on(Input::Inspected {
            pass: FIRST,
            name: NAME,
            above,
            record,
        })
    }
}

fn above(effects: &[Effect<u8>]) -> u32 {
    match effects {
        [Effect::Inspect { above, .. }] => *above,
        _ => panic!("{effects:?}"),
    }
}

fn asked(effects: &[Effect<u8>]) -> Vec<Ticket> {
    match effects {
        [
            Effect::Send {
                probe: Probe::Ask { tickets, .. },
                ..
            },
        ] => tickets.clone(),
        _ => panic!("{effects:?}"),
    }
}

/// The first wait for a name asks for all units, so other waiters don't matter. A later one asks for fewer.
#[test]
fn a_search_asks_for_the_waiters_once_they_matter() {
    let [root, holder, large, small] = [(); 4].map(|()| fresh());
    let member = some_member();
    let state = |waiters: &[Ticket]| NameRecord {
        capacity: Some(2),
        holders: vec![record(holder, member, 1)],
        waiters: waiters.iter().map(|it| record(*it, member, 2)).collect(),
        ..NameRecord::default()
    };
    let mut rig = Rig::new(vec![hold(root, 2, large)]);
    assert_eq!(above(&rig.on(Input::Due)), 2);
    assert_eq!(asked(&rig.inspected(2, state(&[]))), [holder]);
    let answer = Answer {
        holds: vec![hold(holder, 1, small)],
        ..Answer::new(FIRST)
    };
    assert_eq!(above(&rig.on(Input::Answered(answer))), 1);
    let mut all = state(&[large]);
    all.waiters.push(record(small, member, 1));
    assert_eq!(asked(&rig.inspected(1, all)), [large]);
    let answer = Answer {
        waiting: vec![large],
        ..Answer::new(FIRST)
    };
    assert!(rig.on(Input::Answered(answer)).is_empty());
    assert!(rig.searches.next() > Some(rig.now), "it is over");
}

/// Tasks of one client wait for one name, each inside its own lock.
#[test]
fn a_crowd_asks_each_question_once() {
    let elsewhere = fresh();
    let mut rig = Rig::new((0..100).map(|_| hold(fresh(), 1, fresh())).collect());
    let above = above(&rig.on(Input::Due));
    assert_eq!(above, 1, "no waiter of a mutex is in the way of another");
    let record = NameRecord {
        capacity: Some(1),
        holders: vec![record(elsewhere, some_member(), 1)],
        ..NameRecord::default()
    };
    assert_eq!(asked(&rig.inspected(above, record)), [elsewhere]);
    let answer = Answer {
        free: vec![elsewhere],
        ..Answer::new(FIRST)
    };
    assert!(rig.on(Input::Answered(answer)).is_empty());
    assert!(rig.searches.next() > Some(rig.now), "it is over");
}

/// A pass has a limit. The waits beyond it have their own pass right afterwards.
#[test]
fn no_wait_is_left_out_of_a_crowd_at_many_names() {
    let mut holds: Vec<_> = (0..200).map(|_| hold(fresh(), 1, fresh())).collect();
    for (name, hold) in (0..).zip(&mut holds) {
        hold.waits[0].name = name;
    }
    let mut rig = Rig::new(holds);
    let first = rig.on(Input::Due).len();
    assert_eq!(first, 128);
    assert!(rig.on(Input::Due).is_empty(), "the pass is not over");
    rig.now = rig.now.after(LIMITS.search_pass);
    assert_eq!(rig.on(Input::Due).len(), 200 - first);
}

/// Without an answer to [`Effect::View`], the waits are searched for later.
#[test]
fn a_pass_without_its_own_holds_ends() {
    let mut rig = Rig::new(vec![hold(fresh(), 1, fresh())]);
    let env = |now| Env {
        now,
        limits: &LIMITS,
        jittered: &|pause| pause,
    };
    let mut effects = Vec::new();
    rig.searches.on(Input::Due, &env(rig.now), &mut effects);
    let [Effect::View { pass, wait }] = effects[..] else {
        panic!("{effects:?}");
    };
    rig.now = rig.now.after(LIMITS.search_pass);
    assert!(rig.on(Input::Due).is_empty());
    let holds = rig.holds.clone();
    assert!(
        rig.on(Input::Viewed { pass, wait, holds }).is_empty(),
        "it comes too late"
    );
    rig.now = rig.now.after(LIMITS.between_searches);
    assert_eq!(above(&rig.on(Input::Due)), 1);
}

/// Of an answer, only what was asked counts, and only once.
#[test]
fn an_answer_says_what_was_asked() {
    let [holder, other] = [(); 2].map(|()| fresh());
    let mut rig = Rig::new(vec![hold(fresh(), 1, fresh())]);
    rig.on(Input::Due);
    let two = NameRecord {
        capacity: Some(2),
        holders: [holder, fresh()]
            .map(|ticket| record(ticket, some_member(), 1))
            .into(),
        ..NameRecord::default()
    };
    assert_eq!(rig.inspected(1, two).len(), 2);
    let mut elsewhere = hold(other, 1, fresh());
    elsewhere.waits[0].name = NAME + 1;
    let mut answer = Answer {
        holds: vec![elsewhere.clone()],
        ..Answer::new(FIRST)
    };
    assert!(rig.on(Input::Answered(answer.clone())).is_empty());
    elsewhere.ticket = holder;
    answer.holds = vec![elsewhere];
    assert_eq!(rig.on(Input::Answered(answer.clone())).len(), 1);
    // A copy does not make the pass last longer.
    let ends = rig.searches.next();
    rig.now = rig.now.after(LIMITS.search_pass / 2);
    assert!(rig.on(Input::Answered(answer)).is_empty());
    assert_eq!(rig.searches.next(), ends);
}

/// Another client cannot make this one search all the time.
#[test]
fn a_wait_is_searched_for_at_once_but_not_again_and_again() {
    let mut rig = Rig::new(vec![hold(fresh(), 1, fresh())]);
    let wait = rig.holds[0].waits[0].id;
    rig.now = Instant::START;
    assert_eq!(rig.on(Input::Urged(wait)).len(), 1);
    rig.now = rig.now.after(LIMITS.search_pass);
    assert!(rig.on(Input::Due).is_empty(), "the pass ends");
    assert!(rig.on(Input::Urged(wait)).is_empty());
    rig.now = Instant::START.after(LIMITS.between_searches);
    assert_eq!(rig.on(Input::Urged(wait)).len(), 1);
}

#[test]
fn a_copy_of_a_question_gets_no_answer() {
    let mut rig = Rig::new(Vec::new());
    let question = |pass| Question {
        name: NAME,
        from: crate::MemberId::from_bytes([1; 16]),
        key: Ticket::of_public(1),
        pass,
        tickets: vec![Ticket::of_public(1)],
    };
    for (pass, answers) in [(1, 1), (1, 0), (2, 1), (1, 0)] {
        let effects = rig.on(Input::Asked(question(pass)));
        assert_eq!(effects.len(), answers, "pass {pass}");
    }
}
