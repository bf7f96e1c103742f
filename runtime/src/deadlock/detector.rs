//! [`Detector`]: the searches of one client, and when they are due.
//!
//! A wait is looked at after `deadlock_after`, and again at each doubling of that time. A search that some client did not
//! answer, or that found a deadlock which another client must end, is repeated sooner. The detector sends nothing itself:
//! it returns what is [to do](Todo).

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Deadlock;
use super::graph::{Cycle, WaitId, WaitingHold};
use super::probe::{Answer, Probe};
use super::search::{Outcome, Question, Search};
use super::waits::{TaskWait, waits_of};
use crate::clock::Instant;
use crate::config::Endpoint;
use crate::name::Name;
use crate::store::{MemberId, NameRecord, Ticket};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::wait::lock;

/// How long a round waits for answers. Then it ends without them.
const ROUND: Duration = Duration::from_millis(400);
/// How soon a search is repeated that lacked answers, or whose deadlock another client should end.
const SOON: Duration = Duration::from_millis(250);
/// How often in a row.
const SOON_TIMES: u32 = 8;
/// How many rounds in a row may lack an answer before a search does without it.
const PATIENT: u32 = 4;
/// How many questions of others are remembered.
const REMEMBERED: usize = 64;
/// The longest time between two searches.
const LONGEST: Duration = Duration::from_secs(60);

/// Something that the client must do for a search.
#[derive(Debug)]
pub(crate) enum Todo {
    /// Inspect the name, and report the result with [`Detector::inspected`].
    Inspect { round: u64, name: Name },
    /// Send a message about the name.
    Send {
        name: Name,
        member: MemberId,
        probe: Probe,
    },
    /// A deadlock that ends here.
    Judge(Verdict),
}

/// A deadlock whose chosen wait belongs to this client.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) cycle: Cycle,
    pub(crate) wait: Arc<TaskWait>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Detector {
    state: Mutex<State>,
    rounds: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    due: BTreeSet<(Instant, WaitId)>,
    looks: HashMap<WaitId, Look>,
    /// The last questions of others, the newest last.
    questions: VecDeque<(MemberId, u64)>,
}

/// One wait.
#[derive(Debug)]
struct Look {
    wait: Weak<TaskWait>,
    /// Its entry in `due`: the next search, or the end of a round.
    due: Instant,
    /// The time after this search and before the next one.
    pause: Duration,
    search: Option<Search>,
    /// How often in a row it was repeated soon.
    repeated: u32,
    /// How many rounds in a row lacked an answer.
    incomplete: u32,
    /// The deadlocks that were reported, by the tokens of their holds in order.
    reported: HashSet<Vec<u64>>,
}

impl Detector {
    /// `wait` begins, and is looked at `after` this time. Returns when.
    pub(crate) fn add(&self, wait: &Arc<TaskWait>, now: Instant, after: Duration) -> Instant {
        let due = now.after(after);
        let look = Look {
            wait: Arc::downgrade(wait),
            due,
            pause: after,
            search: None,
            repeated: 0,
            incomplete: 0,
            reported: HashSet::new(),
        };
        let mut state = lock(&self.state);
        state.due.insert((due, wait.id()));
        state.looks.insert(wait.id(), look);
        due
    }

    /// When something is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        lock(&self.state).due.first().map(|(due, _)| *due)
    }

    /// Begins the searches that are due, and ends rounds whose time is over.
    pub(crate) fn tick(&self, client: u64, endpoint: &Endpoint, now: Instant) -> Vec<Todo> {
        let mut todos = Vec::new();
        loop {
            let mut state = lock(&self.state);
            let Some((_, id)) = state.due.first().filter(|(due, _)| *due <= now).copied() else {
                return todos;
            };
            let Some(look) = state.looks.get(&id) else {
                state.due.pop_first();
                continue;
            };
            if look.search.is_some() {
                self.end_round(state, id, (client, endpoint), now, &mut todos);
                continue;
            }
            drop(state);
            self.begin(id, (client, endpoint), now, &mut todos);
        }
    }

    /// Another client has found that `wait` must end a deadlock.
    pub(crate) fn search(&self, wait: WaitId, client: (u64, &Endpoint), now: Instant) -> Vec<Todo> {
        let mut todos = Vec::new();
        let idle = lock(&self.state)
            .looks
            .get(&wait)
            .is_some_and(|look| look.search.is_none());
        if idle {
            self.begin(wait, client, now, &mut todos);
        }
        todos
    }

    /// Whether this is the first copy of a question that `from` asks about `name` in this round. (Each server of a
    /// quorum passes on a copy.)
    pub(crate) fn is_new(&self, from: MemberId, round: u64, name: &Name) -> bool {
        let question = (from, round ^ name.hashed().rotate_left(1));
        let mut state = lock(&self.state);
        if state.questions.contains(&question) {
            return false;
        }
        if state.questions.len() == REMEMBERED {
            state.questions.pop_front();
        }
        state.questions.push_back(question);
        true
    }

    /// The store's answer to a question of this round. Without it, the round ends when its time is over.
    pub(crate) fn inspected(
        &self,
        round: u64,
        (name, record): (&Name, &NameRecord),
        client: (u64, &Endpoint),
        now: Instant,
    ) -> Vec<Todo> {
        self.advance(round, client, now, |search| search.inspected(name, record))
    }

    /// A client's answer.
    pub(crate) fn answered(
        &self,
        answer: &Answer,
        client: (u64, &Endpoint),
        now: Instant,
    ) -> Vec<Todo> {
        self.advance(answer.round, client, now, |search| {
            search.answered(answer.clone())
        })
    }

    fn advance(
        &self,
        round: u64,
        client: (u64, &Endpoint),
        now: Instant,
        step: impl FnOnce(&mut Search) -> Vec<Question>,
    ) -> Vec<Todo> {
        let mut todos = Vec::new();
        let mut state = lock(&self.state);
        let mut searches = state.looks.iter_mut();
        // The search may be in a later round by now.
        let found = searches.find_map(|(id, look)| {
            let search = look
                .search
                .as_mut()
                .filter(|search| search.round() == round);
            Some((*id, search?))
        });
        let Some((id, search)) = found else {
            return todos;
        };
        todos.extend(questions(round, step(search)));
        if search.is_complete() {
            self.end_round(state, id, client, now, &mut todos);
        }
        todos
    }

    /// Begins a search, unless the wait is over.
    fn begin(&self, id: WaitId, client: (u64, &Endpoint), now: Instant, todos: &mut Vec<Todo>) {
        let wait = lock(&self.state)
            .looks
            .get(&id)
            .and_then(|look| look.wait.upgrade());
        // (Asks the queues, so the state must not be locked.)
        let holds = wait.map(|wait| wait.holds_at(client.0, client.1));
        let mut state = lock(&self.state);
        let Some(holds) = holds.filter(|holds| !holds.is_empty()) else {
            state.forget(id);
            return;
        };
        let search = Search::new(self.round(), id);
        self.begin_round(&mut state, id, search, holds, now, todos);
    }

    fn begin_round(
        &self,
        state: &mut State,
        id: WaitId,
        mut search: Search,
        holds: Vec<WaitingHold>,
        now: Instant,
        todos: &mut Vec<Todo>,
    ) {
        let asked = search.begin(holds);
        todos.extend(questions(search.round(), asked));
        state.plan(id, now.after(ROUND));
        if let Some(look) = state.looks.get_mut(&id) {
            look.search = Some(search);
        }
    }

    fn round(&self) -> u64 {
        self.rounds.fetch_add(1, Ordering::Relaxed)
    }

    /// The round of `id` is complete, or its time is over.
    fn end_round(
        &self,
        mut state: MutexGuard<'_, State>,
        id: WaitId,
        client: (u64, &Endpoint),
        now: Instant,
        todos: &mut Vec<Todo>,
    ) {
        let Some(mut search) = state.looks.get_mut(&id).and_then(|look| look.search.take()) else {
            return;
        };
        let complete = search.is_complete();
        let Some(look) = state.looks.get_mut(&id) else {
            return;
        };
        look.incomplete = if complete { 0 } else { look.incomplete + 1 };
        // Without an answer, this client may choose another call than the others do. After some rounds, whoever does not
        // answer is gone.
        if (1..PATIENT).contains(&look.incomplete) {
            return state.rest(id, false, now);
        }
        drop(state);
        let outcome = search.end(self.round());
        let wait = lock(&self.state)
            .looks
            .get(&id)
            .and_then(|look| look.wait.upgrade());
        let holds = wait.as_ref().map(|wait| wait.holds_at(client.0, client.1));
        let mut state = lock(&self.state);
        let (Some(wait), Some(holds)) = (wait, holds) else {
            state.forget(id);
            return;
        };
        if holds.is_empty() {
            state.forget(id);
            return;
        }
        match outcome {
            Outcome::Nothing => state.rest(id, complete, now),
            Outcome::Again => self.begin_round(&mut state, id, search, holds, now, todos),
            Outcome::Found(cycle) => {
                let own = cycle.chosen.wait.id == id;
                let chosen = &cycle.chosen;
                if !own && chosen.wait.mode != Deadlock::Off {
                    todos.push(Todo::Send {
                        name: chosen.name.clone(),
                        member: chosen.member,
                        probe: Probe::Search {
                            wait: chosen.wait.id,
                        },
                    });
                }
                // Repeated soon, because the message to the chosen one may be lost.
                state.rest(id, own, now);
                let tokens = cycle.steps.iter().map(|step| step.hold.token);
                let mut tokens: Vec<u64> = tokens.collect();
                tokens.sort_unstable();
                if own
                    && let Some(look) = state.looks.get_mut(&id)
                    && look.reported.insert(tokens)
                {
                    let cycle = *cycle;
                    todos.push(Todo::Judge(Verdict { cycle, wait }));
                }
            }
        }
    }
}

impl State {
    fn forget(&mut self, id: WaitId) {
        if let Some(look) = self.looks.remove(&id) {
            self.due.remove(&(look.due, id));
        }
    }

    fn plan(&mut self, id: WaitId, due: Instant) {
        if let Some(look) = self.looks.get_mut(&id) {
            self.due.remove(&(look.due, id));
            self.due.insert((due, id));
            look.due = due;
        }
    }

    /// The search is over. `settled`: it need not be repeated soon.
    fn rest(&mut self, id: WaitId, settled: bool, now: Instant) {
        let Some(look) = self.looks.get_mut(&id) else {
            return;
        };
        let pause = if settled || look.repeated >= SOON_TIMES {
            let pause = look.pause;
            look.pause = look.pause.saturating_mul(2).min(LONGEST.max(pause));
            pause
        } else {
            look.repeated += 1;
            SOON.min(look.pause)
        };
        if settled {
            look.repeated = 0;
        }
        self.plan(id, now.after(pause));
    }
}

/// The questions of a round, as requests and messages.
fn questions(round: u64, questions: Vec<Question>) -> impl Iterator<Item = Todo> {
    questions.into_iter().map(move |question| match question {
        Question::Inspect(name) => Todo::Inspect { round, name },
        Question::Ask {
            name,
            member,
            tickets,
        } => Todo::Send {
            name,
            member,
            probe: Probe::Ask { round, tickets },
        },
    })
}

/// The answer of `client` to [`Probe::Ask`]. `waits` tells whether one of its tickets for the name waits.
pub(crate) fn answer(
    client: u64,
    endpoint: &Endpoint,
    (round, tickets): (u64, &[Ticket]),
    waits: impl Fn(Ticket) -> bool,
) -> Answer {
    let mut answer = Answer {
        round,
        ..Answer::default()
    };
    for ticket in tickets {
        if let Some(hold) = waits_of(client, endpoint, *ticket) {
            answer.holds.push(hold);
        } else if waits(*ticket) {
            answer.waiting.push(*ticket);
        } else {
            answer.free.push(*ticket);
        }
    }
    answer
}
