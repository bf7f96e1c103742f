//! Replies that are cut or frozen at each of their bytes.

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
/// sometimes for longer than a lease. Each round tries the next byte, up to the longest reply seen before the first
/// round.
pub(super) struct Reply {
    pub(super) cuts: bool,
}

impl Fault for Reply {
    fn name(&self) -> &'static str {
        match self.cuts {
            true => "cut at each byte of a reply",
            false => "frozen at each byte of a reply",
        }
    }

    fn needs(&self) -> Result<Needs, String> {
        proxied()
    }

    fn rounds(&self, field: &mut Field, _usual: usize) -> usize {
        field.proxies[VICTIM].longest_reply();
        (0..10).for_each(|_| settle(field));
        field.proxies[VICTIM].longest_reply()
    }

    fn strike(&self, field: &mut Field, byte: usize) -> Option<Struck> {
        let proxy = &field.proxies[VICTIM];
        match self.cuts {
            true => proxy.cut_reply_at(byte),
            false => proxy.freeze_reply_at(byte),
        }
        if !has_struck(field) {
            return None;
        }
        if !self.cuts {
            match byte % LONG {
                0 => field.pass_a_lease(),
                _ => field.pass(1, 10),
            }
            field.proxies[VICTIM].thaw();
        }
        Struck::now(field)
    }
}

/// A connection is lost, and the new one is cut at some byte of the greeting, which is the server's first replies.
pub(super) struct Greeting;

/// The number of bytes of a greeting that are tried for each usual round.
const PER_ROUND: usize = 8;

impl Fault for Greeting {
    fn name(&self) -> &'static str {
        "cut at bytes of a greeting"
    }

    fn needs(&self) -> Result<Needs, String> {
        proxied()
    }

    fn rounds(&self, _field: &mut Field, usual: usize) -> usize {
        usual * PER_ROUND
    }

    fn strike(&self, field: &mut Field, round: usize) -> Option<Struck> {
        // The first new connection shows the length of the greeting. The second one is cut.
        let before = field.proxies[VICTIM].bytes_down();
        field.proxies[VICTIM].cut();
        settle(field);
        let length = field.proxies[VICTIM].bytes_down() - before;
        let part = length / PER_ROUND as u64;
        let byte = part * (round % PER_ROUND) as u64 + field.seed.below(part);
        field.proxies[VICTIM].cut();
        field.proxies[VICTIM].lose_reply_after(byte as usize);
        has_struck(field).then(|| Struck::now(field)).flatten()
    }
}
