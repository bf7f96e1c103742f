//! Compares the runtime's search with that of the checked model (`model/src/deadlock`). Both must ask the same
//! questions and, from the same answers, reach the same result. What the checker shows for the model thus holds for the
//! runtime.
//!
//! `AUTO_MUTEX_RUNS=n` makes n walks; `AUTO_MUTEX_SEED=s` repeats only the walk that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use auto_mutex_model::deadlock::graph::{Answer as ModelAnswer, Known, KnownWait};
use auto_mutex_model::deadlock::rules::{Rules, Safeguard};
use auto_mutex_model::deadlock::runs::runs;
use auto_mutex_model::deadlock::search::{Round, Search as ModelSearch};
use auto_mutex_model::deadlock::world::{Action, Record, World};

use super::probes::record;
use crate::base::name::Name;
use crate::config::Deadlock;
use crate::deadlock::graph::{Wait, WaitingHold};
use crate::deadlock::probe::{Answer, Probe};
use crate::deadlock::search::{Search, Todo};
use crate::store::{MemberId, NameRecord, Ticket};
use crate::testing::Dice;

const WALKS: u64 = 4000;
const STEPS: usize = 120;

/// These functions convert the model's numbers into names, tickets, waits and members.
fn name(number: usize) -> Name {
    Name::from_escaped(&format!("n:{number}"))
}

fn ticket(number: u16) -> Ticket {
    // Makes tickets sort by their numbers, because the ticket decides between equal tokens.
    Ticket::parse(&format!("{number:016x}{number:016x}")).unwrap()
}

fn wait_id(number: u16) -> Ticket {
    ticket(number + 10_000)
}

fn member(number: u8) -> MemberId {
    MemberId::parse(&format!("{:032x}", u16::from(number) + 1)).unwrap()
}

fn records(records: &[Record]) -> Vec<crate::store::TicketRecord> {
    let translated = records.iter().map(|known| crate::store::TicketRecord {
        parked: known.parked,
        ..record(
            ticket(known.ticket),
            member(known.member),
            known.units.into(),
        )
    });
    translated.collect()
}

fn hold(of: u16, token: u16, units: u8, wait: &KnownWait) -> WaitingHold {
    WaitingHold {
        ticket: ticket(of),
        token: token.into(),
        units: units.into(),
        held: Duration::from_secs(2),
        meta: "h 1 s".into(),
        waits: vec![Wait {
            id: wait_id(wait.id),
            name: name(wait.name),
            units: wait.units.into(),
            after: (wait.after != 0).then(|| ticket(wait.after)),
            waited: Duration::from_secs(1),
            meta: "h 1 s".into(),
            mode: Deadlock::Fail,
        }],
    }
}

/// The runtime's search, with its open questions of this round.
struct Twin {
    search: Search,
    root: Ticket,
    rounds: u64,
    /// The names to inspect, each with the units above which waiters matter.
    names: BTreeMap<usize, u32>,
    tickets: BTreeSet<Ticket>,
}

impl Twin {
    /// Starts the runtime's search where the model's search starts.
    fn new(round: &Round) -> Self {
        let mut twin = Self {
            search: Search::new(1, None),
            root: wait_id(round.root),
            rounds: 1,
            names: BTreeMap::new(),
            tickets: BTreeSet::new(),
        };
        twin.begin(round);
        twin
    }

    fn begin(&mut self, round: &Round) {
        self.names.clear();
        self.tickets.clear();
        let holds = round.graph.answers.iter();
        let holds = holds.map(|(ticket, answer)| match answer {
            ModelAnswer::Held { token, units, wait } => hold(*ticket, *token, *units, wait),
            _ => panic!("the search begins with a hold"),
        });
        self.search.add(self.root, holds.collect());
        let todos = self.search.take_todos();
        self.asks(todos);
    }

    fn asks(&mut self, todos: Vec<Todo>) {
        for todo in todos {
            match todo {
                Todo::Inspect { name, above, .. } => {
                    self.names
                        .insert(name.as_str()[2..].parse().unwrap(), above);
                }
                Todo::Send {
                    probe: Probe::Ask { tickets, .. },
                    ..
                } => self.tickets.extend(tickets),
                Todo::Send { probe, .. } => panic!("no question: {probe:?}"),
                Todo::Judge { cycle, .. } => panic!("no question: {cycle:?}"),
            }
        }
    }

    fn inspected(&mut self, of: usize, known: &Known, rules: &Rules) {
        let capacity = rules.capacities[of].into();
        // The search may ask once more, for waiters.
        while let Some(above) = self.names.remove(&of) {
            let record = NameRecord {
                capacity: Some(capacity),
                holders: records(&known.holders),
                waiters: match above < capacity {
                    true => records(&known.waiters),
                    false => Vec::new(),
                },
                ..NameRecord::default()
            };
            let todos = self.search.inspected((&name(of), above), &record);
            self.asks(todos);
        }
    }

    fn answered(&mut self, of: u16, answer: &ModelAnswer, round: u64) {
        if round != self.rounds {
            // The detector finds no search with the number of an earlier round.
            return;
        }
        let mut translated = Answer {
            round,
            ..Answer::default()
        };
        match answer {
            ModelAnswer::Free => translated.free.push(ticket(of)),
            ModelAnswer::Waiting => translated.waiting.push(ticket(of)),
            ModelAnswer::Held { token, units, wait } => {
                translated.holds.push(hold(of, *token, *units, wait));
            }
        }
        self.tickets.remove(&ticket(of));
        let todos = self.search.answered(translated);
        self.asks(todos);
    }

    /// Asserts that both searches have the same open questions.
    fn must_agree(&mut self, round: &Round, rules: &Rules) {
        for (of, known) in round.graph.names.iter().enumerate() {
            if let Some(known) = known {
                self.inspected(of, known, rules);
            }
        }
        let names: BTreeSet<usize> = round.to_inspect().into_iter().collect();
        let asked: BTreeSet<usize> = self.names.keys().copied().collect();
        assert_eq!(asked, names, "names to inspect");
        let tickets: BTreeSet<Ticket> = round.to_ask().into_iter().map(ticket).collect();
        assert_eq!(self.tickets, tickets, "tickets to ask about");
        let complete = names.is_empty() && tickets.is_empty();
        assert_eq!(self.search.is_complete(), complete);
    }

    /// Ends the round in both searches, and asserts that they have the same result. Returns whether it found a
    /// deadlock.
    fn end(&mut self, round: &Round, rules: &Rules) -> bool {
        self.rounds += 1;
        let expected = round.cycle(rules);
        let search = std::mem::replace(&mut self.search, Search::new(self.rounds, None));
        let (mut findings, graph) = search.end();
        assert_eq!(graph.is_some(), round.first.is_none());
        self.search = Search::new(self.rounds, graph);
        match (findings.remove(0).2, expected) {
            (None, None) => false,
            (Some(_), Some(_)) if round.first.is_none() => true,
            (Some(found), Some(cycle)) if round.first.is_some() => {
                assert_eq!(found.chosen.hold.token, u64::from(cycle.chosen), "chosen");
                let steps = found.steps.iter();
                let steps: Vec<_> = steps.map(|step| (step.hold.token, step.wait.id)).collect();
                let same = cycle.steps.iter();
                let same: Vec<_> = same
                    .map(|(token, wait)| (u64::from(*token), wait_id(*wait)))
                    .collect();
                assert_eq!(steps, same, "the cycle");
                true
            }
            (outcome, cycle) => panic!("{outcome:?}, and {cycle:?} by the model"),
        }
    }
}

/// Walks through the model without the rules `without`, and panics if the searches differ. Returns whether a deadlock
/// was found.
fn walk(seed: u64, without: &'static [Safeguard]) -> bool {
    let mut dice = Dice(seed);
    let all = runs();
    let rules = Rules {
        without,
        ..all[dice.roll(all.len())].rules.clone()
    };
    let mut world = World::new(&rules);
    let mut twin: Option<Twin> = None;
    for _ in 0..STEPS {
        let mut actions = Vec::new();
        world.enabled(&rules, &mut actions);
        let is_search = |action: &&Action| {
            let (begins, ends) = (Action::Begin, Action::EndRound);
            **action == begins
                || **action == ends
                || matches!(action, Action::Inspect(_) | Action::Ask(..) | Action::Copy)
        };
        // Prefers steps of the search, which finds something only if little else happens during a round.
        let searching: Vec<Action> = actions.iter().filter(is_search).copied().collect();
        let from = match searching.is_empty() || dice.chance(15) {
            true => &actions,
            false => &searching,
        };
        if from.is_empty() {
            break;
        }
        let action = dice.of(from);
        if let (Action::EndRound, Some(twin), ModelSearch::Round(round)) =
            (action, &mut twin, &world.search)
        {
            twin.end(round, &rules);
        }
        let copy = match &world.search {
            ModelSearch::Round(round) => round.copy,
            _ => None,
        };
        let second = |world: &World| match &world.search {
            ModelSearch::Round(round) => Some(round.first.is_some()),
            _ => None,
        };
        let before = second(&world);
        world.happen(action, &rules);
        let ModelSearch::Round(round) = &world.search else {
            if let ModelSearch::Over(_) = world.search {
                return true;
            }
            twin = None;
            continue;
        };
        match (action, &mut twin) {
            (Action::Begin, _) => twin = Some(Twin::new(round)),
            (Action::EndRound, Some(twin)) if before == Some(false) => twin.begin(round),
            (Action::Inspect(of), Some(twin)) => {
                let known = round.graph.names[of].as_ref().unwrap();
                twin.inspected(of, known, &rules);
            }
            (Action::Ask(of, _), Some(twin)) => {
                twin.answered(of, &round.graph.answer(of).unwrap(), twin.rounds);
            }
            (Action::Copy, Some(twin)) => {
                let (of, answer) = copy.unwrap();
                twin.answered(of, &answer, twin.rounds - 1);
            }
            _ => {}
        }
        if let Some(twin) = &mut twin {
            twin.must_agree(round, &rules);
        }
        // A round may end without a result at any time, for which the model has no step.
        if round.cycle(&rules).is_none() && dice.one_in(40) {
            if let Some(mut twin) = twin.take() {
                assert!(!twin.end(round, &rules));
            }
            world.search = ModelSearch::Idle;
        }
    }
    false
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn the_search_does_what_the_checked_model_does() {
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        walk(seed, &[]);
        return;
    }
    let walks = number("AUTO_MUTEX_RUNS").unwrap_or(WALKS);
    let found = (1..=walks)
        .filter(|seed| {
            std::panic::catch_unwind(|| walk(*seed, &[])).unwrap_or_else(|_| {
                panic!(
                    "Repeat it:\nAUTO_MUTEX_SEED={seed} cargo test -p auto-mutex-core --lib \
                     the_search_does_what_the_checked_model_does"
                )
            })
        })
        .count();
    println!("{found} deadlocks in {walks} walks");
    assert!(found > 0, "no walk has found a deadlock");
}

/// The comparison notices every rule missing from the model.
#[test]
fn a_rule_that_the_model_lacks_is_found_out() {
    let lacks: [&'static [Safeguard]; 6] = [
        &[Safeguard::WaitIds],
        &[Safeguard::RoundNumber],
        &[Safeguard::Silence],
        &[Safeguard::OtherUnits],
        &[Safeguard::WaiterAsked],
        &[Safeguard::AllEntangled],
    ];
    for without in lacks {
        let differs = |seed: u64| std::panic::catch_unwind(|| walk(seed, without)).is_err();
        assert!((1..=20_000).any(differs), "{without:?}");
    }
}
