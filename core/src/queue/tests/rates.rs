//! How often a client asks: what the benchmarks can only measure, counted by the clock of the test.

use super::*;

/// A waiter far behind asks when its answer says so, and no sooner.
#[test]
fn a_waiter_asks_as_often_as_it_is_told_to() {
    let mut rig = Rig::new();
    let _waiting = rig.enter(&Rig::want());
    let again = 3 * SECOND;
    let answer = || Reply::Queued {
        position: 9,
        again,
        holder: None,
    };
    rig.answer(rig.next(), answer());
    let mut asked = 0;
    for _ in 0..1200 {
        rig.pass(SECOND / 20);
        while !rig.is_silent() {
            asked += 1;
            rig.answer(rig.next(), answer());
        }
    }
    assert_eq!(asked, 60 / 3);
}

/// The holds of a client are renewed together, so that they cost one write of the connection, three times in a lease.
#[test]
fn many_holds_are_renewed_in_one_burst() {
    let mut rig = Rig::new();
    let names = (0..20).map(|index| Name::from_escaped(&format!("queue:{index}")));
    let names: Vec<_> = names.collect();
    let mut holds = Vec::new();
    for name in names {
        rig.name = name;
        holds.push(rig.take(&Rig::want()));
        rig.pass(SECOND / 20);
    }
    let mut bursts = Vec::new();
    for _ in 0..600 {
        rig.pass(SECOND / 20);
        let before = lock(&rig.wire.0).len();
        if before > 0 {
            bursts.push(before);
        }
        while !rig.is_silent() {
            rig.answer(rig.next(), granted());
        }
    }
    assert!(
        bursts.iter().all(|burst| *burst == holds.len()),
        "{bursts:?}"
    );
    // A lease of ten seconds, for thirty seconds.
    assert!((8..=10).contains(&bursts.len()), "{bursts:?}");
}
