//! Replies that are cut or frozen at any of their bytes.

use std::thread;
use std::time::{Duration, Instant};

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::{Needs, Stay};
use crate::recovery::settle;

/// The process whose connection is struck.
const VICTIM: usize = 0;
/// At every `LONG`th byte, the connection stays frozen for longer than a lease.
const LONG: usize = 17;
/// How long to wait for a reply that is long enough.
const SOON: Duration = Duration::from_secs(2);
/// The number of bytes that are tried for each usual round.
const PER_ROUND: usize = 8;

pub(crate) fn all() -> Vec<Fault> {
    vec![
        reply("cut at bytes of a reply", true),
        reply("frozen at bytes of a reply", false),
        greeting(),
    ]
}

fn proxied() -> Result<Needs, String> {
    Ok(Needs {
        proxies: true,
        stay: Stay::Moment,
        ..Needs::default()
    })
}

/// Waits until the pending fault happens. If that takes too long, cancels it and returns `false`.
fn has_struck(field: &Field) -> bool {
    let armed = Instant::now();
    while field.proxies[VICTIM].is_armed() {
        if armed.elapsed() > SOON {
            field.proxies[VICTIM].heal();
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// A reply in the contest arrives only up to some byte. Then the connection is cut or frozen, mostly for a moment,
/// sometimes for longer than a lease. With enough rounds, each byte of the longest reply is tried.
fn reply(name: &str, cuts: bool) -> Fault {
    let strike = move |field: &mut Field, round: usize| {
        let (longest, rounds) = field.bytes;
        let byte = round * longest / rounds;
        let proxy = &field.proxies[VICTIM];
        match cuts {
            true => proxy.cut_reply_at(byte),
            false => proxy.freeze_reply_at(byte),
        }
        if !has_struck(field) {
            return None;
        }
        if !cuts {
            match byte % LONG {
                0 => field.pass_a_lease(),
                _ => field.pass(1, 10),
            }
            field.proxies[VICTIM].thaw();
        }
        Some(Struck::now(field))
    };
    let rounds = |field: &mut Field, usual: usize| {
        field.proxies[VICTIM].longest_reply();
        (0..10).for_each(|_| settle(field));
        let longest = field.proxies[VICTIM].longest_reply().max(1);
        let rounds = longest.min(PER_ROUND * usual);
        field.bytes = (longest, rounds);
        rounds
    };
    Fault {
        rounds,
        ..Fault::in_rounds(name, proxied, strike)
    }
}

/// A connection is lost, and the new one is cut at some byte of the greeting, which is the server's first replies.
fn greeting() -> Fault {
    let strike = |field: &mut Field, round: usize| {
        // The first new connection shows the length of the greeting. The second one is cut.
        let before = field.proxies[VICTIM].bytes_down();
        field.proxies[VICTIM].cut();
        settle(field);
        let length = field.proxies[VICTIM].bytes_down() - before;
        let part = length / PER_ROUND as u64;
        let byte = part * (round % PER_ROUND) as u64 + field.seed.below(part);
        field.proxies[VICTIM].cut();
        field.proxies[VICTIM].lose_reply_after(byte as usize);
        has_struck(field).then(|| Struck::now(field))
    };
    Fault {
        rounds: |_, usual| usual * PER_ROUND,
        ..Fault::in_rounds("cut at bytes of a greeting", proxied, strike)
    }
}
