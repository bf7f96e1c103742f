//! [`Searches`]: the searches of one client, and when they are due.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use super::graph::{Cycle, Graph};
use super::input::{Effect, Env, Input, Question};
use super::probe::Probe;
use super::search::Search;
use super::wait::{WaitId, WaitingHold};
use crate::{Instant, Limits, MemberId, Ticket};

const REMEMBERED: usize = 64;

/// The searches of one client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Searches<N> {
    /// The waits that are not in the search, and when each is due.
    pub(super) due: BTreeSet<(Instant, WaitId)>,
    pub(super) looks: BTreeMap<WaitId, Look>,
    /// The search in progress.
    pub(super) search: Option<Search<N>>,
    /// No search begins before this time.
    pub(super) rests: Instant,
    /// The number of the next pass.
    pub(super) next_pass: u64,
    /// The latest questions of other clients, to recognize duplicates. A pass asks only once about a ticket, so its
    /// first one stands for the whole question.
    pub(super) questions: VecDeque<(MemberId, u64, Option<Ticket>)>,
}

/// What is known of a wait between its searches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Look {
    pub(super) due: Instant,
    /// The pause after the next search that need not be repeated soon.
    pause: Duration,
    repeated: u32,
    /// How many incomplete passes in a row counted for nothing.
    pub(super) dropped: u32,
    /// How long a pass with this wait may go without an answer.
    patience: Duration,
    /// Another client cannot make this wait be looked at again before this time.
    pub(super) urged: Instant,
    /// The deadlocks reported so far, each as the sorted tokens of its holds.
    pub(super) reported: BTreeSet<Vec<u64>>,
}

/// A step while it runs.
struct Step<'a, 'b, N> {
    searches: &'a mut Searches<N>,
    env: &'a Env<'b>,
    effects: &'a mut Vec<Effect<N>>,
}

impl<N: Clone + Ord> Searches<N> {
    /// `first_pass` is a number, which should be random: no answer to another client's question may be taken for one to
    /// this client's.
    pub const fn new(first_pass: u64) -> Self {
        Self {
            due: BTreeSet::new(),
            looks: BTreeMap::new(),
            search: None,
            rests: Instant::START,
            next_pass: first_pass,
            questions: VecDeque::new(),
        }
    }

    /// When [`Input::Due`] is.
    pub fn next(&self) -> Option<Instant> {
        match &self.search {
            Some(search) => Some(search.ends),
            None => self.due.first().map(|(due, _)| self.rests.max(*due)),
        }
    }

    /// The ticket of another client with this public half, if the search has asked about it.
    pub fn ticket(&self, public: u64) -> Option<Ticket> {
        self.search.as_ref()?.ticket(public)
    }

    /// What an input changes, and what follows from it: added to `effects`, in order.
    pub fn on(&mut self, input: Input<N>, env: &Env<'_>, effects: &mut Vec<Effect<N>>) {
        let mut step = Step {
            searches: self,
            env,
            effects,
        };
        match input {
            Input::Waits { wait, after } => step.add(wait, after),
            Input::Due => step.tick(),
            Input::Viewed { pass, wait, holds } => step.viewed(pass, wait, holds),
            Input::Inspected {
                pass,
                name,
                above,
                record,
            } => step.advance(pass, |search, effects| {
                search.inspected((&name, above), record, effects);
            }),
            Input::Asked(question) => step.asked(question),
            Input::Answered(answer) => {
                let pass = answer.pass;
                step.advance(pass, |search, effects| search.answered(answer, effects));
            }
            Input::Urged(wait) => step.urged(wait),
        }
    }
}

impl<N: Clone + Ord> Step<'_, '_, N> {
    fn add(&mut self, wait: WaitId, after: Duration) {
        let due = self.env.now.after(after);
        let look = Look {
            due,
            pause: after,
            repeated: 0,
            dropped: 0,
            patience: self.env.limits.search_pass,
            urged: Instant::START,
            reported: BTreeSet::new(),
        };
        self.searches.due.insert((due, wait));
        self.searches.looks.insert(wait, look);
    }

    fn tick(&mut self) {
        let search = self.searches.search.as_ref();
        if search.is_some_and(|search| search.ends <= self.env.now) {
            self.end_pass();
        }
        let due = self.take_due();
        self.begin_pass(due, None);
    }

    /// Returns none while a search is in progress or has just begun.
    fn take_due(&mut self) -> VecDeque<WaitId> {
        let (now, searches) = (self.env.now, &mut *self.searches);
        let mut due = VecDeque::new();
        if searches.search.is_some() || now < searches.rests {
            return due;
        }
        while let Some((_, id)) = searches.due.first().filter(|(due, _)| *due <= now) {
            due.push_back(*id);
            searches.due.pop_first();
        }
        let pauses = due.iter().filter_map(|id| searches.looks.get(id));
        if let Some(shortest) = pauses.map(|look| look.pause).min() {
            let pause = shortest.min(self.env.limits.between_searches);
            searches.rests = now.after((self.env.jittered)(pause));
        }
        due
    }

    /// Another client has found that `wait` must end a deadlock.
    fn urged(&mut self, wait: WaitId) {
        let (now, searches) = (self.env.now, &mut *self.searches);
        let Searches { looks, due, .. } = searches;
        let look = looks.get_mut(&wait).filter(|look| look.urged <= now);
        if let Some(look) = look.filter(|look| due.contains(&(look.due, wait))) {
            look.urged = now.after(self.env.limits.between_searches);
            searches.plan(wait, now);
            searches.rests = searches.rests.min(now);
        }
        self.tick();
    }

    /// Each server of a quorum passes on a copy of a question.
    fn asked(&mut self, question: Question<N>) {
        let questions = &mut self.searches.questions;
        let known = (
            question.from,
            question.pass,
            question.tickets.first().copied(),
        );
        if questions.contains(&known) {
            return;
        }
        if questions.len() == REMEMBERED {
            questions.pop_front();
        }
        questions.push_back(known);
        self.effects.push(Effect::Answer(question));
    }

    /// `first` is what the first pass has found; `None` in the first pass.
    fn begin_pass(&mut self, waits: VecDeque<WaitId>, first: Option<Graph<N>>) {
        if waits.is_empty() {
            return;
        }
        let mut search = Search::new(self.searches.next_pass, waits, first);
        self.searches.next_pass += 1;
        search.ends = self.env.now.after(self.env.limits.search_pass);
        self.searches.search = Some(search);
        self.view();
    }

    /// Asks for the holds of the next wait, or begins to ask others.
    fn view(&mut self) {
        let (now, limits) = (self.env.now, self.env.limits);
        let Some(search) = &mut self.searches.search else {
            return;
        };
        let mut left = VecDeque::new();
        if search.is_full() {
            left = core::mem::take(&mut search.unseen);
        }
        if let Some(&wait) = search.unseen.front() {
            let pass = search.pass;
            self.effects.push(Effect::View { pass, wait });
            return;
        }
        search.inspect(self.effects);
        let looks = &self.searches.looks;
        let roots = search.roots.iter().filter_map(|id| looks.get(id));
        search.patience = roots
            .map(|look| look.patience)
            .max()
            .unwrap_or(limits.search_pass);
        search.ends = now.after(search.patience);
        if search.roots.is_empty() {
            self.searches.search = None;
        }
        // They are left to a search that begins right after this one.
        for id in left {
            self.searches.plan(id, now);
            self.searches.rests = now;
        }
    }

    fn viewed(&mut self, pass: u64, wait: WaitId, holds: Vec<WaitingHold<N>>) {
        let search = self.searches.search.as_mut();
        let search = search.filter(|it| it.pass == pass && it.unseen.front() == Some(&wait));
        let Some(search) = search else {
            return;
        };
        search.unseen.pop_front();
        if holds.is_empty() {
            // The wait is over, or its task no longer holds a lock.
            self.searches.remove(wait);
        } else {
            search.add(wait, holds, self.effects);
        }
        self.view();
    }

    fn advance(&mut self, pass: u64, step: impl FnOnce(&mut Search<N>, &mut Vec<Effect<N>>)) {
        let search = self.searches.search.as_mut();
        let Some(search) = search.filter(|search| search.pass == pass) else {
            return;
        };
        let (before, effects) = (search.progress(), self.effects.len());
        step(search, self.effects);
        search.inspect(self.effects);
        // A copy of an answer must not keep the pass open.
        if search.progress() > before || self.effects.len() > effects {
            search.ends = self.env.now.after(search.patience);
        }
        if search.is_complete() {
            self.end_pass();
        }
    }

    fn end_pass(&mut self) {
        let Some(mut search) = self.searches.search.take() else {
            return;
        };
        let (now, limits) = (self.env.now, self.env.limits);
        for id in core::mem::take(&mut search.unseen) {
            self.searches.rest(id, false, now, limits);
        }
        let (findings, graph) = search.end();
        let mut unconfirmed = VecDeque::new();
        for (id, complete, cycle) in findings {
            let Some(look) = self.searches.looks.get_mut(&id) else {
                continue;
            };
            // With fewer answers, clients could choose different calls to end. After some incomplete passes, a silent
            // client counts as gone.
            let is_dropped = !complete && look.dropped < limits.dropped_passes;
            look.dropped = match (complete, is_dropped) {
                (true, _) => 0,
                (false, true) => look.dropped + 1,
                (false, false) => look.dropped,
            };
            if !complete {
                look.patience = (look.patience * 2).min(limits.slowest_pass);
            }
            match cycle.filter(|_| !is_dropped) {
                None => self.searches.rest(id, complete, now, limits),
                Some(_) if graph.is_some() => unconfirmed.push_back(id),
                Some(cycle) => self.found(id, cycle),
            }
        }
        self.begin_pass(unconfirmed, graph);
    }

    fn found(&mut self, wait: WaitId, cycle: Cycle<N>) {
        let chosen = &cycle.chosen;
        let own = chosen.wait.id == wait;
        let (now, limits) = (self.env.now, self.env.limits);
        self.searches.rest(wait, own, now, limits);
        if !own {
            // This message may be lost, so the next search sends it again.
            self.effects.push(Effect::Send {
                name: chosen.name.clone(),
                member: chosen.member,
                key: chosen.hold.ticket,
                probe: Probe::Search {
                    wait: chosen.wait.id,
                },
            });
            return;
        }
        let mut tokens: Vec<u64> = cycle.steps.iter().map(|step| step.hold.token).collect();
        tokens.sort_unstable();
        let look = self.searches.looks.get_mut(&wait);
        if look.is_some_and(|look| look.reported.insert(tokens)) {
            self.effects.push(Effect::Report { wait, cycle });
        }
    }
}

impl<N> Searches<N> {
    fn remove(&mut self, id: WaitId) {
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
        let pause = if settled || look.repeated >= limits.searched_again {
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
