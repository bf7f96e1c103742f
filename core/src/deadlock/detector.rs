//! [`Detector`]: the searches of one client, and when they are due. Sends nothing itself: it returns what is [to
//! do](Todo).

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::graph::{Cycle, WaitId, WaitingHold};
use super::probe::{Answer, Probe};
use super::search::{Search, Todo};
use super::waits::{TaskWait, waits_of};
use crate::base::clock::Instant;
use crate::base::name::Name;
use crate::base::sync::atomic::{AtomicU64, Ordering};
use crate::base::sync::{Mutex, MutexGuard};
use crate::base::wait::lock;
use crate::store::{Engine, MemberId, NameRecord, Ticket};

/// After that, the round ends without the missing answers.
const ROUND: Duration = Duration::from_millis(400);
/// Answers were missing, or another client must end the deadlock.
const SOON: Duration = Duration::from_millis(250);
const SOON_TIMES: u32 = 8;
/// After this many incomplete rounds, a search continues without the missing answers.
const PATIENT: u32 = 4;
const REMEMBERED: usize = 64;
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) struct Detector {
    client: u64,
    engine: Arc<dyn Engine>,
    state: Mutex<State>,
    rounds: AtomicU64,
}

#[derive(Default)]
struct State {
    due: BTreeSet<(Instant, WaitId)>,
    looks: HashMap<WaitId, Look>,
    /// The searches in progress, by their rounds.
    searches: HashMap<u64, Search>,
    /// The last questions of other clients, to recognize second copies.
    questions: VecDeque<(MemberId, u64)>,
}

#[derive(Default)]
struct Look {
    wait: Weak<TaskWait>,
    /// Of its entry in `due`: the next search, or the end of a round.
    due: Instant,
    /// After the next search that need not be repeated soon.
    pause: Duration,
    round: Option<u64>,
    repeated: u32,
    incomplete: u32,
    /// Each as the sorted tokens of its holds.
    reported: HashSet<Vec<u64>>,
}

impl Detector {
    pub(crate) fn new(client: u64, engine: Arc<dyn Engine>) -> Self {
        Self {
            client,
            engine,
            state: Mutex::default(),
            rounds: AtomicU64::new(0),
        }
    }

    /// Returns the time of the first search.
    pub(crate) fn add(&self, wait: &Arc<TaskWait>, now: Instant, after: Duration) -> Instant {
        let due = now.after(after);
        let look = Look {
            wait: Arc::downgrade(wait),
            due,
            pause: after,
            ..Look::default()
        };
        let mut state = lock(&self.state);
        state.due.insert((due, wait.id()));
        state.looks.insert(wait.id(), look);
        due
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        lock(&self.state).due.first().map(|(due, _)| *due)
    }

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
                    todos.extend(self.begin(id, now));
                }
            }
        }
    }

    /// Another client has found that `wait` must end a deadlock.
    pub(crate) fn search(&self, wait: WaitId, now: Instant) -> Vec<Todo> {
        let look = |state: &State| state.looks.get(&wait).map(|look| look.round);
        let is_idle = look(&lock(&self.state)) == Some(None);
        match is_idle {
            true => self.begin(wait, now),
            false => Vec::new(),
        }
    }

    /// `waits`: whether a ticket of this client waits for that name.
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
            if let Some(hold) = waits_of(self.client, &*self.engine, *ticket) {
                answer.holds.push(hold);
            } else if waits(*ticket) {
                answer.waiting.push(*ticket);
            } else {
                answer.free.push(*ticket);
            }
        }
        answer
    }

    /// Each server of a quorum passes on a copy of a question.
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

    pub(crate) fn inspected(
        &self,
        round: u64,
        name: &Name,
        record: &NameRecord,
        now: Instant,
    ) -> Vec<Todo> {
        self.advance(round, now, |search| search.inspected(name, record))
    }

    pub(crate) fn answered(&self, answer: Answer, now: Instant) -> Vec<Todo> {
        self.advance(answer.round, now, |search| search.answered(answer))
    }

    fn advance(
        &self,
        round: u64,
        now: Instant,
        step: impl FnOnce(&mut Search) -> Vec<Todo>,
    ) -> Vec<Todo> {
        let mut state = lock(&self.state);
        let Some(search) = state.searches.get_mut(&round) else {
            return Vec::new();
        };
        let mut todos = step(search);
        if search.is_complete() {
            self.end_round(state, round, now, &mut todos);
        }
        todos
    }

    /// Forgets the wait if it's over, or if its task no longer holds a lock.
    fn waiting(&self, id: WaitId) -> Option<(Vec<WaitingHold>, Arc<TaskWait>)> {
        let look = |state: &State| state.looks.get(&id)?.wait.upgrade();
        let wait = look(&lock(&self.state));
        // `holds_at` locks queues, so the detector's state must not be locked.
        let found = wait.map(|wait| (wait.holds_at(self.client, &*self.engine), wait));
        let found = found.filter(|(holds, _)| !holds.is_empty());
        if found.is_none() {
            lock(&self.state).forget(id);
        }
        found
    }

    fn begin(&self, id: WaitId, now: Instant) -> Vec<Todo> {
        let Some((holds, _)) = self.waiting(id) else {
            return Vec::new();
        };
        let search = Search::new(self.round(), id);
        lock(&self.state).begin_round(search, holds, now)
    }

    fn round(&self) -> u64 {
        self.rounds.fetch_add(1, Ordering::Relaxed)
    }

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
        let (id, complete) = (search.root, search.is_complete());
        let Some(look) = state.looks.get_mut(&id) else {
            return;
        };
        look.round = None;
        look.incomplete = if complete { 0 } else { look.incomplete + 1 };
        // Otherwise clients could choose different calls to end. After `PATIENT` incomplete rounds, a silent client
        // counts as gone.
        if (1..PATIENT).contains(&look.incomplete) {
            return state.rest(id, false, now);
        }
        drop(state);
        let cycle = search.end(self.round());
        let Some((holds, wait)) = self.waiting(id) else {
            return;
        };
        let mut state = lock(&self.state);
        match cycle {
            None => state.rest(id, complete, now),
            Some(_) if search.must_confirm() => todos.extend(state.begin_round(search, holds, now)),
            Some(cycle) => todos.extend(state.found(wait, cycle, now)),
        }
    }
}

impl State {
    fn begin_round(
        &mut self,
        mut search: Search,
        holds: Vec<WaitingHold>,
        now: Instant,
    ) -> Vec<Todo> {
        let (id, round) = (search.root, search.round);
        let todos = search.begin(holds);
        self.plan(id, now.after(ROUND));
        if let Some(look) = self.looks.get_mut(&id) {
            // Of two searches that began at the same time, the later one replaces the other.
            if let Some(other) = look.round.replace(round) {
                self.searches.remove(&other);
            }
            self.searches.insert(round, search);
        }
        todos
    }

    fn found(&mut self, wait: Arc<TaskWait>, cycle: Cycle, now: Instant) -> Option<Todo> {
        let (id, chosen) = (wait.id(), &cycle.chosen);
        let own = chosen.wait.id == id;
        self.rest(id, own, now);
        if !own {
            // The next search sends this message again, because it may be lost.
            let wait = chosen.wait.id;
            return Some(Todo::Send {
                name: chosen.name.clone(),
                member: chosen.member,
                probe: Probe::Search { wait },
            });
        }
        let mut tokens: Vec<u64> = cycle.steps.iter().map(|step| step.hold.token).collect();
        tokens.sort_unstable();
        let is_new = self.looks.get_mut(&id)?.reported.insert(tokens);
        is_new.then_some(Todo::Judge { cycle, wait })
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

    /// `settled`: the search need not be repeated soon.
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
