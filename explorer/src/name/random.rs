//! Rules drawn by a seed: larger runs than can be explored, of all kinds of locks, in which much goes wrong. Each goes
//! one random way.

use auto_mutex_protocol::client::Patience;
use auto_mutex_protocol::{Dice, Share};

use crate::name::rules::{Mishaps, Rules, TICK};

/// The rules of a seed.
pub fn rules(seed: u64) -> Rules {
    let mut dice = Dice(seed);
    let (units, permits) = (dice.between(1, 2).into(), dice.between(2, 3).into());
    let shares = dice.of(&[
        [Share::MUTEX; 3],
        [
            Share::permits(units, permits),
            Share::permits(1, permits),
            // As while another number is rolled out.
            Share::permits(1, 2),
        ],
        [Share::of(3, 3), Share::of(1, 3), Share::of(1, 3)],
        [Share::NOTIFICATION; 3],
    ]);
    let is_mutex = shares[0] == Share::MUTEX;
    let polls = Patience::Poll {
        retries: 3,
        interval: TICK,
        block: Some(TICK * 9),
    };
    let patience = [Patience::NONE, polls, Patience::Queue(Some(TICK * 4))];
    let patience = vec![
        Patience::Queue(None),
        dice.of(&patience),
        Patience::Queue(None),
    ];
    let mut some = |most| dice.between(0, most);
    let signals = match shares[0].takes() {
        true => some(4),
        false => 0,
    };
    let mishaps = Mishaps {
        breaks: some(4),
        losses: some(3),
        copies: some(3),
        crashes: some(1),
        renewals: some(4),
        drains: some(1),
        closes: some(1),
        queries: some(2),
        suspensions: some(2),
        overhears: some(2),
        signals,
        ..Mishaps::default()
    };
    let times = [some(1), some(3), some(3)];
    Rules {
        shares: shares.to_vec(),
        patience,
        at_least: times[0],
        expire: vec![times[1]],
        store_timeout: times[2],
        calls: vec![(30, 3), (20, 2), (20, 2)],
        keepers: if is_mutex { some(3) } else { 0 },
        owned: is_mutex && some(3) == 0,
        asks: some(1) == 0,
        cancels: true,
        lease: 3,
        claim: 2,
        tomb: 5,
        late: 3,
        near: some(1) as usize,
        tokens: 8,
        messages: 3,
        pipeline: 3,
        prompt: some(1) == 0,
        mishaps,
        ..Rules::new(3)
    }
}
