//! Takes every possible step from each state of a run of the model, nearest states first.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use auto_mutex_model::rules::Rules;
use auto_mutex_model::runs::Run;
use auto_mutex_model::world::World;

use super::twin::Twin;
use super::words::Words;

/// Explores at most `states` states; returns the number of steps that were taken.
pub(super) fn explore(run: &Run, states: u64) -> u64 {
    let rules = Rules {
        tomb: Words::tomb(run.rules.claim),
        ..run.rules.clone()
    };
    let first = Twin::new(&rules);
    let mut seen = HashSet::from([look(&first.world, &rules)]);
    let mut next = VecDeque::from([first]);
    let (mut looked_at, mut steps) = (0, 0);
    while let Some(twin) = next.pop_front().filter(|_| looked_at < states) {
        looked_at += 1;
        let mut actions = Vec::new();
        twin.world.enabled(&rules, &mut actions);
        for action in actions {
            let mut after = twin.clone();
            if let Err(difference) = after.happen(&action, &rules) {
                panic!("{}: {action}, in {:#?}: {difference}", run.name, twin.world);
            }
            steps += 1;
            if seen.insert(look(&after.world, &rules)) {
                next.push_back(after);
            }
        }
    }
    steps
}

/// Returns a hash of the world that does not depend on how tickets, tokens and counters are numbered.
fn look(world: &World, rules: &Rules) -> u64 {
    let mut plain = world.clone();
    plain.normalise(rules);
    let mut hasher = DefaultHasher::new();
    plain.hash(&mut hasher);
    hasher.finish()
}
