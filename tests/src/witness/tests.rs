//! Tests of the witness, with made-up holders.

use super::{Part, Sections, Witness};

fn mutex(token: u64) -> Vec<Part> {
    vec![Part::all("m", token)]
}

#[test]
fn two_inside_are_seen_and_the_stale_write_is_refused() {
    let witness = Witness::new();
    let mut a = Sections::report_to(witness.port(), "a".into());
    let mut b = Sections::report_to(witness.port(), "b".into());
    let first = a.enter(mutex(1));
    let second = b.enter(mutex(2));
    assert_eq!(witness.inside().len(), 2);
    let (taken, left) = a.leave(&first);
    assert!(!taken);
    assert_eq!(witness.inside(), ["b"]);
    a.testify(&first, &left);
    let (_, left) = b.leave(&second);
    b.testify(&second, &left);
    a.flush();
    b.flush();
    let verdict = witness.verdict();
    assert_eq!(verdict.overlaps.len(), 1);
    assert_eq!((verdict.crowded, verdict.stale_writes), (1, 1));
}

#[test]
fn readers_go_in_together_and_are_stale_behind_a_writer() {
    let witness = Witness::new();
    let mut who = ["a", "b", "c"].map(|who| Sections::report_to(witness.port(), who.into()));
    let read = |token| vec![Part::some("l", token, 1, 10)];
    let write = |token| vec![Part::some("l", token, 10, 10)];
    let later = who[0].enter(read(3));
    let earlier = who[1].enter(read(2));
    assert!(later.taken && earlier.taken);
    let too_late = who[2].enter(write(2));
    assert!(!too_late.taken, "a reader with a later token was here");
    who[2].leave(&too_late);
    assert!(who[1].leave(&earlier).0);
    let writer = who[2].enter(write(4));
    assert!(writer.taken);
    assert!(!who[0].leave(&later).0, "it reads what was written since");
    assert_eq!(witness.verdict().crowded, 2);
}

#[test]
fn registers_of_several_names_take_all_or_nothing() {
    let witness = Witness::new();
    let mut a = Sections::report_to(witness.port(), "a".into());
    let both = |x, y| vec![Part::all("x", x), Part::all("y", y)];
    let section = a.enter(both(5, 5));
    assert!(section.taken && a.leave(&section).0);
    assert!(!a.enter(both(6, 4)).taken);
    assert!(a.enter(both(5, 6)).taken);
}
