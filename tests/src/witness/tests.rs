//! The witness, tried with holders that are made up.

use super::{Sections, Witness};

#[test]
fn honest_holders_leave_a_clean_record() {
    let witness = Witness::new();
    let mut a = Sections::report_to(witness.port(), "a".into());
    let mut b = Sections::report_to(witness.port(), "b".into());
    for (sections, token) in [(&mut a, u64::MAX >> 2), (&mut b, (u64::MAX >> 2) + 1)] {
        let section = sections.enter(token);
        assert!(section.alone && section.taken);
        let (taken, left) = sections.leave(&section);
        assert!(taken);
        sections.testify(&section, &left);
        sections.flush();
    }
    let verdict = witness.verdict();
    assert_eq!(verdict.proven, 2);
    assert_eq!(witness.inside(), None);
    assert!(verdict.overlaps.is_empty() && verdict.token_faults.is_empty());
}

#[test]
fn two_inside_are_seen_and_the_stale_write_is_refused() {
    let witness = Witness::new();
    let mut a = Sections::report_to(witness.port(), "a".into());
    let mut b = Sections::report_to(witness.port(), "b".into());
    let first = a.enter(1);
    let second = b.enter(2);
    assert_eq!(witness.inside().as_deref(), Some("b"));
    assert!(!second.alone);
    let (taken, left) = a.leave(&first);
    assert!(!taken);
    a.testify(&first, &left);
    let (_, left) = b.leave(&second);
    b.testify(&second, &left);
    a.flush();
    b.flush();
    let verdict = witness.verdict();
    assert_eq!(verdict.overlaps.len(), 1);
    assert_eq!((verdict.crowded, verdict.stale_writes), (1, 1));
}
