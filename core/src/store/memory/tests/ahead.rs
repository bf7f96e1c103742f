//! Tokens ahead of the clock. Each grant raises the token by at least a microsecond, and there may be many grants in
//! one.

use std::time::SystemTime;

use super::*;
use crate::base::clock::{self, Instant, by_hand};
use crate::base::name::Name;
use crate::store::memory::MemoryStore;
use crate::store::{HolderRecord, Lease, RandomId, Request, RequestId, Store as _, meta};

const GRANTS: u64 = 100_000;

/// Grants and releases a name many times at one moment; returns the last token.
fn rush(store: &MemoryStore, name: &Name, now: Instant) -> u64 {
    by_hand::set(now);
    let submit = |op| {
        let request = Request {
            name: name.clone(),
            op,
            id: RequestId(1),
        };
        store.submit(request).unwrap().result.unwrap()
    };
    let mut last = 0;
    for _ in 0..GRANTS {
        let ticket = Ticket::random();
        let reply = submit(Op::Acquire {
            lease: Lease::of(ticket, 1, Duration::from_secs(10)),
            share: Share::of(1, 1),
            mode: Mode::Try,
            meta: "host 1 site".into(),
        });
        let Reply::Granted { token, .. } = reply else {
            panic!("{reply:?}");
        };
        last = token;
        submit(Op::Release {
            ticket,
            park: Duration::ZERO,
            tomb: false,
            used: 0,
        });
    }
    last
}

#[test]
fn a_store_that_is_opened_again_begins_after_the_last_token() {
    let url = format!("ahead-{}", Ticket::random());
    let name = Name::from_escaped("n");
    let open = || MemoryStore::open(Some(&url), MemberId::random()).0;
    let first = open();
    // The first store's clock is five seconds ahead.
    let now = clock::now();
    let soon = now.after(Duration::from_secs(5));
    let last = rush(&first, &name, soon);
    drop(first);
    assert!(rush(&open(), &name, now) >= last + GRANTS);
}

#[test]
fn a_token_ahead_of_the_clock_is_kept_for_as_long_as_others() {
    let mut world = World::new();
    let (member, ticket) = ids();
    for _ in 0..1000 {
        world.lock(member, ticket);
        world.release(member, ticket, 0, false);
    }
    let token = world.state.token();
    assert!(token >= world.now + 999);
    assert!(world.state.kept_until(&LIMITS) >= token + 600_000_000);
}

#[test]
fn nobody_holds_since_a_time_that_has_not_come() {
    let later = SystemTime::now() + Duration::from_secs(3600);
    let token = later.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let holder = meta::read(&HolderRecord {
        token: token.as_micros() as u64,
        meta: "host 1 site".into(),
    });
    assert!(holder.unwrap().since <= SystemTime::now());
}
