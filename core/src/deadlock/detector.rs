//! [`Detector`]: the searches of one client, and when they are due. It sends nothing itself, but returns what is [to
//! do](Todo).

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::graph::{Cycle, Graph, WaitId};
use super::probe::{Answer, Probe};
use super::search::{Search, Todo};
use super::waits::{TaskWait, waits_of};
use crate::base::clock::Instant;
use crate::base::name::Name;
use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicU64, Ordering};
use crate::base::sync::{HashMap, HashSet};
use crate::base::wait::lock;
use crate::store::{Engine, Limits, MemberId, NameRecord, Ticket, jittered, random_number};

/// How often a search is repeated soon.
const SOON_TIMES: u32 = 8;
/// After this many incomplete rounds, a search continues without the missing answers.
const PATIENT: u32 = 4;
const REMEMBERED: usize = 64;

pub(crate) struct Detector {
    client: u64,
    engine: Arc<dyn Engine>,
    limits: &'static Limits,
    state: Mutex<State>,
    /// Begins with a random number, because no answer to another client's question may be taken for one to our own.
    rounds: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The waits that are not in the search, and when each is due.
    due: BTreeSet<(Instant, WaitId)>,
    looks: HashMap<WaitId, Look>,
    /// The search in progress, and the end of its round.
    search: Option<(Instant, Search)>,
    /// No search begins before this time.
    rests: Instant,
    /// The latest questions of other clients, to recognize duplicates. A round asks only once about a ticket, so its first
    /// one stands for the whole question.
    questions: VecDeque<(MemberId, u64, Option<Ticket>)>,
}

struct Look {
    wait: Weak<TaskWait>,
    due: Instant,
    /// The pause after the next search that need not be repeated soon.
    pause: Duration,
    repeated: u32,
    incomplete: u32,
    /// How long a round with this wait may go without an answer.
    patience: Duration,
    /// Another client cannot make this wait be looked at again before this time.
    urged: Instant,
    /// The deadlocks reported so far, each as the sorted tokens of its holds.
    reported: HashSet<Vec<u64>>,
}

impl Detector {
    pub(crate) fn new(client: u64, engine: Arc<dyn Engine>, limits: &'static Limits) -> Self {
        Self {
            client,
            engine,
            limits,
            state: Mutex::default(),
            rounds: AtomicU64::new(u64::from(random_number()) << 32),
        }
    }

    /// Returns when the first search is due.
    pub(crate) fn add(&self, wait: &Arc<TaskWait>, now: Instant, after: Duration) -> Instant {
        let due = now.after(after);
        let look = Look {
            wait: Arc::downgrade(wait),
            due,
            pause: after,
            repeated: 0,
            incomplete: 0,
            patience: self.limits.round,
            urged: Instant::START,
            reported: HashSet::default(),
        };
        let mut state = lock(&self.state);
        state.due.insert((due, wait.id()));
        state.looks.insert(wait.id(), look);
        due
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let state = lock(&self.state);
        match &state.search {
            Some((ends, _)) => Some(*ends),
            None => state.due.first().map(|(due, _)| state.rests.max(*due)),
        }
    }

    pub(crate) fn tick(&self, now: Instant) -> Vec<Todo> {
        let ends = lock(&self.state).search.as_ref().map(|(ends, _)| *ends);
        let mut todos = match ends {
            Some(ends) if ends <= now => self.end_round(now),
            _ => Vec::new(),
        };
        let due = lock(&self.state).take_due(now, self.limits);
        todos.extend(self.begin_round(due, None, now));
        todos
    }

    /// Searches because another client has found that `wait` must end a deadlock.
    pub(crate) fn search(&self, wait: WaitId, now: Instant) -> Vec<Todo> {
        let mut state = lock(&self.state);
        let State { looks, due, .. } = &mut *state;
        let look = looks.get_mut(&wait).filter(|look| look.urged <= now);
        if let Some(look) = look.filter(|look| due.contains(&(look.due, wait))) {
            look.urged = now.after(self.limits.between_searches);
            state.plan(wait, now);
            state.rests = state.rests.min(now);
        }
        drop(state);
        self.tick(now)
    }

    /// The ticket of another client with this public half, if the search has asked about it.
    pub(crate) fn ticket(&self, public: u64) -> Option<Ticket> {
        let state = lock(&self.state);
        state.search.as_ref()?.1.ticket(public)
    }

    /// `waits` tells whether a ticket of this client waits for that name.
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

    /// Returns `false` for a duplicate: each server of a quorum passes on a copy of a question.
    pub(crate) fn is_new(&self, from: MemberId, round: u64, tickets: &[Ticket]) -> bool {
        let question = (from, round, tickets.first().copied());
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
        asked: (&Name, u32),
        record: &NameRecord,
        now: Instant,
    ) -> Vec<Todo> {
        self.advance(round, now, |search| search.inspected(asked, record))
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
        let search = state.search.as_mut();
        let Some((ends, search)) = search.filter(|(_, search)| search.round == round) else {
            return Vec::new();
        };
        let before = search.progress();
        let mut todos = step(search);
        // A copy of an answer must not keep the round open.
        if search.progress() > before || !todos.is_empty() {
            *ends = now.after(search.patience);
        }
        if search.is_complete() {
            drop(state);
            todos.extend(self.end_round(now));
        }
        todos
    }

    /// `first` is what the first round has found; `None` in the first round.
    fn begin_round(&self, roots: Vec<WaitId>, first: Option<Graph>, now: Instant) -> Vec<Todo> {
        let mut search = Search::new(self.rounds.fetch_add(1, Ordering::Relaxed), first);
        for id in roots {
            if search.is_full() {
                // It is left to a search that begins right after this one.
                let mut state = lock(&self.state);
                state.plan(id, now);
                state.rests = now;
                continue;
            }
            let wait = |state: &State| state.looks.get(&id)?.wait.upgrade();
            let wait = wait(&lock(&self.state));
            // `holds_at` locks queues, so the detector's mutex must not be locked.
            let holds = wait.map(|wait| wait.holds_at(self.client, &*self.engine));
            match holds.filter(|holds| !holds.is_empty()) {
                Some(holds) => search.add(id, holds),
                // The wait is over, or its task no longer holds a lock.
                None => lock(&self.state).forget(id),
            }
        }
        let todos = search.take_todos();
        if !search.roots.is_empty() {
            let mut state = lock(&self.state);
            let looks = search.roots.iter().filter_map(|id| state.looks.get(id));
            search.patience = looks
                .map(|look| look.patience)
                .max()
                .unwrap_or(self.limits.round);
            state.search = Some((now.after(search.patience), search));
        }
        todos
    }

    fn end_round(&self, now: Instant) -> Vec<Todo> {
        let Some((_, search)) = lock(&self.state).search.take() else {
            return Vec::new();
        };
        let (findings, graph) = search.end();
        let (mut todos, mut unconfirmed) = (Vec::new(), Vec::new());
        let mut state = lock(&self.state);
        for (id, complete, cycle) in findings {
            let Some(look) = state.looks.get_mut(&id) else {
                continue;
            };
            look.incomplete = if complete { 0 } else { look.incomplete + 1 };
            if !complete {
                look.patience = (look.patience * 2).min(self.limits.slowest_round);
            }
            // With fewer answers, clients could choose different calls to end. After `PATIENT` incomplete rounds, a
            // silent client counts as gone.
            let waits = (1..PATIENT).contains(&look.incomplete);
            match cycle.filter(|_| !waits) {
                None => state.rest(id, complete, now, self.limits),
                Some(_) if graph.is_some() => unconfirmed.push(id),
                Some(cycle) => todos.extend(state.found(id, cycle, now, self.limits)),
            }
        }
        drop(state);
        todos.extend(self.begin_round(unconfirmed, graph, now));
        todos
    }
}

impl State {
    /// Returns none while a search is in progress or has just begun.
    fn take_due(&mut self, now: Instant, limits: &Limits) -> Vec<WaitId> {
        if self.search.is_some() || now < self.rests {
            return Vec::new();
        }
        let mut due = Vec::new();
        while let Some((_, id)) = self.due.first().filter(|(due, _)| *due <= now) {
            due.push(*id);
            self.due.pop_first();
        }
        let pauses = due.iter().filter_map(|id| self.looks.get(id));
        if let Some(shortest) = pauses.map(|look| look.pause).min() {
            self.rests = now.after(jittered(shortest.min(limits.between_searches)));
        }
        due
    }

    fn found(&mut self, id: WaitId, cycle: Cycle, now: Instant, limits: &Limits) -> Option<Todo> {
        let chosen = &cycle.chosen;
        let own = chosen.wait.id == id;
        self.rest(id, own, now, limits);
        if !own {
            // This message may be lost, so the next search sends it again.
            let wait = chosen.wait.id;
            return Some(Todo::Send {
                name: chosen.name.clone(),
                member: chosen.member,
                key: chosen.hold.ticket,
                probe: Probe::Search { wait },
            });
        }
        let mut tokens: Vec<u64> = cycle.steps.iter().map(|step| step.hold.token).collect();
        tokens.sort_unstable();
        let look = self.looks.get_mut(&id)?;
        let wait = look.wait.upgrade()?;
        let is_new = look.reported.insert(tokens);
        is_new.then_some(Todo::Judge { cycle, wait })
    }

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

    /// `settled` means that the search need not be repeated soon.
    fn rest(&mut self, id: WaitId, settled: bool, now: Instant, limits: &Limits) {
        let Some(look) = self.looks.get_mut(&id) else {
            return;
        };
        let pause = if settled || look.repeated >= SOON_TIMES {
            let pause = look.pause;
            look.pause = look
                .pause
                .saturating_mul(2)
                .min(limits.longest_search_pause.max(pause));
            pause
        } else {
            look.repeated += 1;
            limits.search_again.min(look.pause)
        };
        if settled {
            look.repeated = 0;
        }
        self.plan(id, now.after(pause));
    }
}
