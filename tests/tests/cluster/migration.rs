//! Slots move back and forth while processes compete for the locks in them.

use auto_mutex_tests::cluster::{Cluster, PRIMARIES, Shape};

use crate::rig::{Contest, slot};

const MOVES: usize = 6;

/// Moves the slots during a contest of this kind.
fn back_and_forth(kind: &str, name: &str) {
    let cluster = Cluster::with(Shape::default().without_replicas());
    let mut contest = Contest::begin(&cluster, &format!("migration of {kind}"), kind, name);
    contest.gets_on();
    // For a contest with several names, the slots of the first two move.
    let names = match kind.split_once(':') {
        Some(("multi", _)) => vec![format!("{name}0"), format!("{name}1")],
        _ => vec![name.to_owned()],
    };
    let slots: Vec<_> = names.iter().map(|name| slot(&cluster, name)).collect();
    let mut at: Vec<_> = slots.iter().map(|slot| Cluster::home(*slot)).collect();
    for number in 0..MOVES {
        for (slot, at) in slots.iter().zip(&mut at) {
            let to = (*at + 1 + number % 2) % PRIMARIES;
            let migration = cluster.migrate(*slot, *at, to);
            // The keys move one by one; others may come meanwhile.
            for key in migration.left() {
                migration.move_key(&key);
            }
            migration.move_keys();
            migration.finish();
            *at = to;
        }
        contest.gets_on();
    }
    contest.ends_well();
}

#[test]
fn a_mutex_on_the_move_is_held_by_one_at_a_time() {
    back_and_forth("mutex", "m");
}

#[test]
fn a_semaphore_on_the_move_has_as_many_permits_as_ever() {
    back_and_forth("semaphore:3", "s");
}

#[test]
fn a_readers_writer_lock_on_the_move_keeps_its_sides_apart() {
    back_and_forth("rw", "l");
}

#[test]
fn several_names_on_the_move_are_held_all_or_none() {
    back_and_forth("multi:3", "n");
}
