//! URLs, and tokens ahead of the clock. Each grant raises the token by at least a microsecond, and there may be many
//! grants in one.

use auto_mutex_seam::store::{Lease, Mode, Op, RandomId, Reply, RequestId, Share, Ticket, parse};
use auto_mutex_seam::testing::by_hand;

use super::*;

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
fn stores_of_one_name_are_one() {
    for (one, other, is_same) in [
        ("memory://", "memory://", false),
        ("memory://tests", "memory://tests", true),
        ("MEMORY://a%20b", "memory://a b", true),
        ("memory://a", "memory://b", false),
    ] {
        let (one, other) = (parse(one).unwrap(), parse(other).unwrap());
        assert_eq!(one.is_same_store(&*other), is_same, "{one:?} {other:?}");
    }
}

#[test]
fn a_url_has_nothing_but_a_name() {
    for (url, reason) in [
        ("memory://a/b", "nothing but a name"),
        ("memory://?x=1", "nothing but a name"),
        ("memory://a%2", "hexadecimal"),
    ] {
        let error = parse(url).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
