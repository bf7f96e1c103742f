//! Counts violations of exclusion.

use super::record::Record;

/// Returns how often a task entered and thereby raised the number of held units above the capacity.
pub(crate) fn overlaps(records: &[Record], capacity: u64) -> u64 {
    // At equal times, a task that leaves comes before a task that enters.
    let enters = records.iter().map(|turn| (turn.entered, 1, turn.units));
    let leaves = records.iter().map(|turn| (turn.left, 0, turn.units));
    let mut events: Vec<_> = enters.chain(leaves).collect();
    events.sort_unstable();
    let (mut inside, mut overlaps) = (0_u64, 0);
    for (_, comes, units) in events {
        if comes == 1 {
            inside += units;
            overlaps += u64::from(inside > capacity);
        } else {
            inside = inside.saturating_sub(units);
        }
    }
    overlaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(entered: u64, left: u64, units: u64) -> Record {
        Record {
            asked: 0,
            entered,
            left,
            done: left,
            units,
        }
    }

    #[test]
    fn turns_one_after_another_do_not_overlap() {
        let turns = [turn(5, 7, 1), turn(1, 3, 1), turn(3, 5, 1)];
        assert_eq!(overlaps(&turns, 1), 0);
    }

    #[test]
    fn who_comes_while_another_is_inside_is_counted() {
        let turns = [turn(1, 4, 1), turn(3, 5, 1), turn(4, 6, 1)];
        assert_eq!(overlaps(&turns, 1), 2);
        assert_eq!(overlaps(&turns, 2), 0);
        // A writer enters while a reader holds the lock.
        assert_eq!(overlaps(&[turn(1, 4, 1), turn(2, 3, 10)], 10), 1);
    }
}
