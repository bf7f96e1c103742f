//! [`Detector`]: the searches of one client, and when they are due.
//!
//! A wait is looked at after `deadlock_after`, and again at each doubling of that time. A search that some client did not
//! answer, or that found a deadlock which another client must end, is repeated sooner. The detector sends nothing itself:
//! it returns what is [to do](Todo).

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

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
#[derive(Debug)]
pub(crate) struct Detector {
    /// The client, and where its store is.
    client: u64,
    endpoint: Endpoint,
    state: Mutex<State>,
    rounds: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    due: BTreeSet<(Instant, WaitId)>,
    looks: HashMap<WaitId, Look>,
    /// The searches in progress, by their rounds.
    searches: HashMap<u64, Search>,
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
    /// The round of its search, if one is in progress.
    round: Option<u64>,
    /// How often in a row it was repeated soon.
    repeated: u32,
    /// How many rounds in a row lacked an answer.
    incomplete: u32,
    /// The deadlocks that were reported, by the tokens of their holds in order.
    reported: HashSet<Vec<u64>>,
}

impl Detector {
    pub(crate) fn new(client: u64, endpoint: Endpoint) -> Self {
        Self {
            client,
            endpoint,
            state: Mutex::default(),
            rounds: AtomicU64::new(0),
        }
    }

    /// `wait` begins, and is looked at `after` this time. Returns when.
    pub(crate) fn add(&self, wait: &Arc<TaskWait>, now: Instant, after: Duration) -> Instant {
        let due = now.after(after);
        let look = Look {
            wait: Arc::downgrade(wait),
            due,
            pause: after,
            round: None,
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
    pub(crate) fn tick(&self, now: Instant) -> Vec<Todo> {
        let mut todos = Vec::new();
        loop {
            let mut state = lock(&self.state);
            let Some((_, id)) = state.due.first().filter(|(due, _)| *due <= now).copied() else {
                return todos;
            };
            match state.looks.get(&id).map(|look| look.round) {
                None => drop(state.due.pop_first()),
                Some(Some(round)) => self.end_round(state, round, now, &mut todos),
                Some(None) => {
                    drop(state);
                    self.begin(id, now, &mut todos);
                }
            }
        }
    }

    /// Another client has found that `wait` must end a deadlock.
    pub(crate) fn search(&self, wait: WaitId, now: Instant) -> Vec<Todo> {
        let mut todos = Vec::new();
        let look = |state: &State| state.looks.get(&wait).map(|look| look.round);
        let is_idle = look(&lock(&self.state)) == Some(None);
        if is_idle {
            self.begin(wait, now, &mut todos);
        }
        todos
    }

    /// The answer to a question of another client. `waits` tells whether a ticket of this client waits for the name.
    pub(crate) fn answer(
        &self,
        round: u64,
        tickets: &[Ticket],
        waits: impl Fn(Ticket) -> bool,
    ) -> Answer {
        let mut answer = Answer {
            round,
            ..Answer::default()
        };
        for ticket in tickets {
            if let Some(hold) = waits_of(self.client, &self.endpoint, *ticket) {
                answer.holds.push(hold);
            } else if waits(*ticket) {
                answer.waiting.push(*ticket);
            } else {
                answer.free.push(*ticket);
            }
        }
        answer
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
        name: &Name,
        record: &NameRecord,
        now: Instant,
    ) -> Vec<Todo> {
        self.advance(round, now, |search| search.inspected(name, record))
    }

    /// A client's answer.
    pub(crate) fn answered(&self, answer: Answer, now: Instant) -> Vec<Todo> {
        self.advance(answer.round, now, |search| search.answered(answer))
    }

    /// Takes an answer in, unless its round is over.
    fn advance(
        &self,
        round: u64,
        now: Instant,
        step: impl FnOnce(&mut Search) -> Vec<Question>,
    ) -> Vec<Todo> {
        let mut state = lock(&self.state);
        let Some(search) = state.searches.get_mut(&round) else {
            return Vec::new();
        };
        let mut todos: Vec<Todo> = questions(round, step(search)).collect();
        if search.is_complete() {
            self.end_round(state, round, now, &mut todos);
        }
        todos
    }

    /// The wait, and the holds of its task. Forgets a wait that is over.
    fn waiting(&self, id: WaitId) -> Option<(Arc<TaskWait>, Vec<WaitingHold>)> {
        let look = |state: &State| state.looks.get(&id)?.wait.upgrade();
        let wait = look(&lock(&self.state));
        // Asks the queues, so the state must not be locked.
        let found = wait.map(|wait| {
            let holds = wait.holds_at(self.client, &self.endpoint);
            (wait, holds)
        });
        let found = found.filter(|(_, holds)| !holds.is_empty());
        if found.is_none() {
            lock(&self.state).forget(id);
        }
        found
    }

    /// Begins a search, unless the wait is over.
    fn begin(&self, id: WaitId, now: Instant, todos: &mut Vec<Todo>) {
        if let Some((_, holds)) = self.waiting(id) {
            let search = Search::new(self.round(), id);
            todos.extend(lock(&self.state).begin_round(search, holds, now));
        }
    }

    fn round(&self) -> u64 {
        self.rounds.fetch_add(1, Ordering::Relaxed)
    }

    /// The round is complete, or its time is over.
    fn end_round(
        &self,
        mut state: MutexGuard<'_, State>,
        round: u64,
        now: Instant,
        todos: &mut Vec<Todo>,
    ) {
        let Some(mut search) = state.searches.remove(&round) else {
            return;
        };
        let (id, complete) = (search.root(), search.is_complete());
        let Some(look) = state.looks.get_mut(&id) else {
            return;
        };
        look.round = None;
        look.incomplete = if complete { 0 } else { look.incomplete + 1 };
        // Without an answer, this client may choose another call than the others do. After some rounds, whoever does not
        // answer is gone.
        if (1..PATIENT).contains(&look.incomplete) {
            return state.rest(id, false, now);
        }
        drop(state);
        let outcome = search.end(self.round());
        let Some((wait, holds)) = self.waiting(id) else {
            return;
        };
        let mut state = lock(&self.state);
        match outcome {
            Outcome::Nothing => state.rest(id, complete, now),
            Outcome::Again => todos.extend(state.begin_round(search, holds, now)),
            Outcome::Found(cycle) => todos.extend(state.found(wait, *cycle, now)),
        }
    }
}

impl State {
    fn begin_round(
        &mut self,
        mut search: Search,
        holds: Vec<WaitingHold>,
        now: Instant,
    ) -> impl Iterator<Item = Todo> + use<> {
        let (id, round) = (search.root(), search.round());
        let asked = search.begin(holds);
        self.plan(id, now.after(ROUND));
        if let Some(look) = self.looks.get_mut(&id) {
            // Two threads may have begun one at the same time.
            if let Some(other) = look.round.replace(round) {
                self.searches.remove(&other);
            }
            self.searches.insert(round, search);
        }
        questions(round, asked)
    }

    /// `wait` is a part of a deadlock. Returns what is to do about it, if anything.
    fn found(&mut self, wait: Arc<TaskWait>, cycle: Cycle, now: Instant) -> Option<Todo> {
        let (id, chosen) = (wait.id(), &cycle.chosen);
        let own = chosen.wait.id == id;
        self.rest(id, own, now);
        if !own {
            // Sent again by the next search, because the message may be lost.
            return Some(Todo::Send {
                name: chosen.name.clone(),
                member: chosen.member,
                probe: Probe::Search {
                    wait: chosen.wait.id,
                },
            });
        }
        let tokens = cycle.steps.iter().map(|step| step.hold.token);
        let mut tokens: Vec<u64> = tokens.collect();
        tokens.sort_unstable();
        let is_new = self.looks.get_mut(&id)?.reported.insert(tokens);
        is_new.then_some(Todo::Judge(Verdict { cycle, wait }))
    }

    fn forget(&mut self, id: WaitId) {
        if let Some(look) = self.looks.remove(&id) {
            self.due.remove(&(look.due, id));
            if let Some(round) = look.round {
                self.searches.remove(&round);
            }
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
fn questions(round: u64, questions: Vec<Question>) -> impl Iterator<Item = Todo> + use<> {
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
