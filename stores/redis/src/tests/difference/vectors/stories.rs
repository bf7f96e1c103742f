//! Short sequences with remarks, for a reader; and names with their escaped forms.

use std::time::Duration;

use auto_mutex_difference::START;
use auto_mutex_seam::store::{Lease, Mode, Name, Op, Retain, Share, Signal};
use serde_json::json;

use super::format::{Call, Step, member, ticket};
use super::make::Sequence;
use crate::script::command::KEY;

pub(super) const NAME: &str = "stories";
pub(super) const ABOUT: &str = "Short sequences with remarks: begin here.";

/// The members.
const ANN: u64 = 1001;
const BOB: u64 = 1002;
const EVE: u64 = 1003;

struct Story {
    at: i64,
    /// The counter of the next request.
    counter: u64,
    opens: i64,
    sequence: Sequence,
}

impl Story {
    fn new(title: &str) -> Self {
        let mut story = Self {
            at: 0,
            counter: 1,
            opens: 0,
            sequence: Sequence {
                title: title.into(),
                names: vec![Name::from_escaped("stories:a%20lock")],
                steps: Vec::new(),
            },
        };
        for member in [ANN, BOB, EVE] {
            story.listen(member, true);
        }
        story
    }

    fn remark(&mut self, text: &str) -> &mut Self {
        self.sequence.steps.push(Step::Remark(text.into()));
        self
    }

    fn listen(&mut self, member: u64, listens: bool) -> &mut Self {
        self.sequence.steps.push(Step::Listen {
            at: self.at,
            member,
            listens,
        });
        self
    }

    fn after_ms(&mut self, ms: i64) -> &mut Self {
        self.at += ms * 1000;
        self
    }

    /// The token of a grant that was made at this time.
    fn now(&self) -> u64 {
        START.saturating_add_signed(self.at)
    }

    fn ops(&mut self, member: u64, ops: Vec<Op>) -> &mut Self {
        self.sequence.steps.push(Step::Call(Call {
            at: self.at,
            name: 0,
            member,
            opens: self.opens,
            ops,
        }));
        // The next operation comes a little later.
        self.at += 250;
        self
    }

    fn op(&mut self, member: u64, op: Op) -> &mut Self {
        self.ops(member, vec![op])
    }

    fn lease(&mut self, number: u64) -> Lease {
        self.counter += 1;
        Lease::of(ticket(number), self.counter, Duration::from_secs(10))
    }

    fn share(&mut self, number: u64, share: Share, mode: Mode) -> Op {
        Op::Acquire {
            lease: self.lease(number),
            share,
            mode,
            meta: "host 4711 main+at+src/main.rs:7".into(),
        }
    }

    fn acquire(&mut self, member: u64, number: u64, share: Share) -> &mut Self {
        let op = self.share(number, share, Mode::Queue);
        self.op(member, op)
    }

    fn lock(&mut self, member: u64, number: u64) -> &mut Self {
        self.acquire(member, number, Share::MUTEX)
    }

    fn attempt(&mut self, member: u64, number: u64) -> &mut Self {
        let op = self.share(number, Share::MUTEX, Mode::Try);
        self.op(member, op)
    }

    fn touch(&mut self, member: u64, number: u64) -> &mut Self {
        self.touch_for(member, number, 0)
    }

    fn touch_for(&mut self, member: u64, number: u64, units: u32) -> &mut Self {
        let lease = self.lease(number);
        self.op(member, Op::Touch { lease, units })
    }

    /// An acquire by a client that may keep the lock between its calls.
    fn lock_to_keep(&mut self, member: u64, number: u64) -> &mut Self {
        let mut op = self.share(number, Share::MUTEX, Mode::Queue);
        if let Op::Acquire { lease, .. } = &mut op {
            lease.retain = Retain::InUse;
        }
        self.op(member, op)
    }

    fn retain(&mut self, member: u64, number: u64, retain: Retain) -> &mut Self {
        let mut lease = self.lease(number);
        lease.retain = retain;
        if retain == Retain::Kept {
            lease.hold = Duration::from_secs(2);
        }
        self.op(member, Op::Touch { lease, units: 0 })
    }

    fn release(&mut self, member: u64, number: u64) -> &mut Self {
        self.op(member, released(number, 0, 0, false))
    }

    fn inspect(&mut self) -> &mut Self {
        self.op(ANN, Op::Inspect { above: 0 })
    }

    fn signal(&mut self, number: u64, signal: Signal) -> &mut Self {
        let ticket = ticket(number);
        self.op(ANN, Op::Signal { ticket, signal })
    }
}

fn released(number: u64, park_ms: u64, used: u64, tomb: bool) -> Op {
    Op::Release {
        ticket: ticket(number),
        park: Duration::from_millis(park_ms),
        tomb,
        used,
    }
}

pub(super) fn all() -> Vec<Sequence> {
    let mut all = Vec::new();
    let mut tell = |title: &str, tell: &dyn Fn(&mut Story)| {
        let mut story = Story::new(title);
        tell(&mut story);
        all.push(story.sequence);
    };
    tell("a mutex goes from one member to the next", &|s| {
        s.lock(ANN, 1);
        s.remark("Bob waits; Eve only tries.").lock(BOB, 2);
        s.attempt(EVE, 3).inspect();
        s.remark("The release grants the lock to Bob, who claims it with a touch.");
        s.release(ANN, 1).touch(BOB, 2).inspect();
        s.release(BOB, 2).inspect();
    });
    tell("a release and an acquire are one call", &|s| {
        s.lock(ANN, 1);
        let again = s.share(2, Share::MUTEX, Mode::Queue);
        s.ops(ANN, vec![released(1, 0, 0, false), again]);
        s.lock(BOB, 3);
        let again = s.share(4, Share::MUTEX, Mode::Queue);
        s.remark("Now Bob is first.");
        s.ops(ANN, vec![released(2, 0, 0, false), again]);
    });
    tell("a holder and its member die", &|s| {
        s.lock(ANN, 1).lock(BOB, 2);
        for _ in 0..6 {
            s.after_ms(1_099).touch(BOB, 2);
        }
        s.remark("The lease of the holder ends: the next touch gets the lock.");
        s.after_ms(3_404).touch(BOB, 2);
        s.remark("The holder was only slow.")
            .touch(ANN, 1)
            .release(ANN, 1);
    });
    tell("waiters that say nothing are passed over", &|s| {
        s.lock(ANN, 1).lock(BOB, 2);
        s.after_ms(3_000).lock(EVE, 3);
        s.remark("Bob's last request was three seconds ago, so Eve gets the lock.");
        s.release(ANN, 1).inspect();
        s.remark("Bob kept his place, and is first again.")
            .touch(BOB, 2);
        s.touch(EVE, 3).lock(ANN, 4).release(EVE, 3).touch(BOB, 2);
    });
    tell("a grant that is not claimed", &|s| {
        s.lock(ANN, 1).lock(BOB, 2).lock(EVE, 3).release(ANN, 1);
        s.remark("Bob does not claim the grant within two seconds.");
        s.after_ms(2_000).touch(EVE, 3).touch(BOB, 2).inspect();
    });
    tell(
        "a member without a subscription is not granted a lock by message",
        &|s| {
            s.lock(ANN, 1).lock(BOB, 2).lock(EVE, 3).listen(BOB, false);
            s.release(ANN, 1).touch(EVE, 3).listen(BOB, true);
            s.touch(BOB, 2).release(EVE, 3).touch(BOB, 2);
        },
    );
    tell(
        "a waiter leaves, and a late copy of its acquire arrives",
        &|s| {
            s.lock(ANN, 1);
            let acquire = s.share(2, Share::MUTEX, Mode::Queue);
            s.op(BOB, acquire.clone());
            s.remark("The release leaves a tombstone.");
            s.op(BOB, released(2, 0, 0, true)).release(ANN, 1);
            s.op(BOB, acquire.clone());
            s.remark("A tombstone lasts for 30 seconds.");
            s.after_ms(30_000).op(BOB, acquire);
        },
    );
    tell("readers and writers", &|s| {
        s.acquire(ANN, 1, Share::READER)
            .acquire(BOB, 2, Share::READER);
        s.acquire(EVE, 3, Share::WRITER);
        s.remark("No reader overtakes a writer.");
        s.acquire(ANN, 4, Share::READER);
        s.release(ANN, 1).release(BOB, 2).touch(EVE, 3);
        s.remark("The writer becomes a reader, which lets the other reader in.");
        s.touch_for(EVE, 3, 1).touch(ANN, 4).inspect();
    });
    tell("a semaphore whose number of permits changes", &|s| {
        let permits = |units, all| Share::permits(units, all);
        s.acquire(ANN, 1, permits(1, 5))
            .acquire(BOB, 2, permits(1, 5));
        s.remark("The smallest number counts. What is granted stays.");
        s.acquire(EVE, 3, permits(1, 2)).release(ANN, 1);
        s.acquire(ANN, 4, permits(1, 5)).touch(EVE, 3);
        s.remark("Nobody may ask for more units than that.");
        s.acquire(ANN, 5, permits(3, 5)).inspect();
        s.remark("Without the smallest number, a new ticket brings back the larger one.");
        s.release(EVE, 3).acquire(ANN, 5, permits(3, 5)).inspect();
        s.remark("It is too small for a ticket that is there.");
        s.acquire(EVE, 6, permits(1, 2));
        s.remark("As long as no new ticket comes, the smallest number stays.");
        s.release(ANN, 4).release(ANN, 5);
        s.acquire(EVE, 6, permits(1, 2))
            .op(EVE, released(6, 0, 1, false))
            .release(BOB, 2);
        s.remark("A mutex is no semaphore of one permit.");
        s.acquire(ANN, 7, permits(1, 1))
            .acquire(EVE, 8, Share::MUTEX)
            .acquire(EVE, 9, permits(1, 3));
    });
    tell("a semaphore and its signals", &|s| {
        let permits = |units| Share::permits(units, 3);
        s.acquire(ANN, 1, permits(2)).acquire(BOB, 2, permits(2));
        s.remark("One permit is free, but Bob comes first.");
        s.acquire(EVE, 3, permits(1))
            .release(ANN, 1)
            .touch(BOB, 2)
            .touch(EVE, 3);
        s.acquire(ANN, 4, permits(1));
        s.remark("A signal stands for a permit. It is used up if the release says so.");
        let token = s.now();
        s.signal(5, Signal::Token("a text".into()));
        s.touch(ANN, 4).inspect();
        s.remark("The same signal again changes nothing.");
        s.signal(5, Signal::Token("a text".into()));
        s.op(ANN, released(4, 0, token, false)).inspect();
        s.signal(6, Signal::Token("two words".into()));
        s.acquire(ANN, 7, permits(1)).release(ANN, 7).inspect();
    });
    tell("a condition variable", &|s| {
        s.signal(1, Signal::One);
        s.acquire(ANN, 2, Share::NOTIFICATION)
            .acquire(BOB, 3, Share::NOTIFICATION);
        s.acquire(EVE, 4, Share::NOTIFICATION);
        let token = s.now();
        s.signal(5, Signal::One).touch(ANN, 2);
        s.op(ANN, released(2, 0, token, false));
        s.signal(6, Signal::All).touch(BOB, 3).touch(EVE, 4);
        s.remark("Bob did not use the notification, but nobody else waits.");
        s.release(BOB, 3).inspect();
    });
    tell(
        "a lock that is kept for some time after its release",
        &|s| {
            s.lock(ANN, 1).lock(BOB, 2);
            s.op(ANN, released(1, 1_000, 0, false)).inspect();
            s.remark("The ticket was released, so a touch of it finds nothing.");
            s.touch(ANN, 1).attempt(ANN, 1);
            s.after_ms(1_000).touch(BOB, 2);
        },
    );
    tell("a client keeps a lock between its calls", &|s| {
        s.lock_to_keep(ANN, 1);
        s.remark("The call has ended. The lease gets short, and the token greater.");
        s.after_ms(40).retain(ANN, 1, Retain::Kept).inspect();
        s.remark("A call has entered without a request; it lasts for longer than 20 ms.");
        s.after_ms(40).retain(ANN, 1, Retain::InUse).inspect();
        s.remark("Bob's attempt and Eve's wait recall the lock.");
        s.attempt(BOB, 2).lock_to_keep(EVE, 3);
        s.remark("A touch of a waiter recalls it, too.")
            .touch(EVE, 3);
        s.remark("A call is inside, so Ann only says that she will release the lock.");
        s.retain(ANN, 1, Retain::No).touch(EVE, 3).release(ANN, 1);
        s.remark("Eve had to wait, so nobody recalls her lock.");
        s.touch(EVE, 3).lock(BOB, 4).touch(BOB, 4);
    });
    tell("an attempt finds a lock that is kept", &|s| {
        s.lock_to_keep(ANN, 1).touch(ANN, 1);
        s.remark("With this touch, Ann no longer wants to keep the lock. So Bob's attempt recalls nothing.");
        s.attempt(BOB, 2).retain(ANN, 1, Retain::Kept);
        s.remark("Ann gets the message, and releases the lock. Bob's second attempt succeeds.");
        s.attempt(BOB, 2).release(ANN, 1).attempt(BOB, 2);
    });
    tell("a name that is kept becomes another kind of lock", &|s| {
        s.lock_to_keep(ANN, 1).retain(ANN, 1, Retain::Kept);
        s.acquire(BOB, 2, Share::permits(1, 2)).release(ANN, 1);
        s.acquire(BOB, 2, Share::permits(1, 2));
    });
    tell("a client that keeps a lock dies", &|s| {
        s.lock_to_keep(ANN, 1).retain(ANN, 1, Retain::Kept);
        s.listen(ANN, false).lock(BOB, 2);
        s.remark("The short lease ends.");
        s.after_ms(1_100).touch(BOB, 2).after_ms(900).touch(BOB, 2);
    });
    tell("a hold moves to another member", &|s| {
        s.lock(ANN, 1).lock(EVE, 2);
        for number in [3, 4] {
            let lease = s.lease(number);
            let (old, meta) = (ticket(1), "host 4712 heir".into());
            s.op(BOB, Op::Adopt { old, lease, meta });
        }
        s.touch(ANN, 1).release(BOB, 3).touch(EVE, 2);
    });
    tell("an operator", &|s| {
        let token = s.now();
        s.lock(ANN, 1).lock(BOB, 2);
        let by = "host 4713 ops".into();
        s.op(EVE, Op::Kick { token, by }).inspect();
        s.remark("A second kick finds a newer hold, and does nothing.");
        let by = "host 4713 ops".into();
        s.op(EVE, Op::Kick { token, by }).touch(BOB, 2);
        s.op(EVE, Op::Delete).op(EVE, Op::Force);
        s.touch(BOB, 2).op(EVE, Op::Delete).op(EVE, Op::Delete);
        s.remark("The token is known for ten minutes.").inspect();
    });
    tell("requests that do not fit", &|s| {
        s.acquire(
            ANN,
            1,
            Share {
                units: 2,
                ..Share::MUTEX
            },
        );
        s.lock(ANN, 2);
        s.acquire(BOB, 3, Share::permits(1, 1))
            .remark("Only the kind of lock differs: granting it is the client's mistake.");
        s.acquire(BOB, 4, Share::permits(1, 2))
            .touch(EVE, 5)
            .release(EVE, 5);
        let (ticket, token) = (ticket(5), 1);
        s.op(EVE, Op::Raise { ticket, token });
    });
    tell("a server that is closed after a failover", &|s| {
        s.lock(ANN, 1).lock(BOB, 2).release(ANN, 1);
        s.remark("The members learn that the server opens in five seconds. Bob's grant cannot be claimed.");
        s.opens = 5_000_000;
        s.touch(BOB, 2).attempt(EVE, 3).lock(EVE, 4);
        s.after_ms(2_000).touch(BOB, 2).touch(EVE, 4).inspect();
        s.remark("The server is open.")
            .after_ms(3_000)
            .touch(EVE, 4)
            .touch(BOB, 2);
        s.opens = 0;
        s.touch(BOB, 2);
    });
    tell("a server of a quorum", &|s| {
        let now = s.now();
        s.attempt(ANN, 1);
        for token in [now + 10_000, now + 10_000, 1] {
            let ticket = ticket(1);
            s.op(ANN, Op::Raise { ticket, token });
        }
        s.release(ANN, 1).attempt(BOB, 2);
    });
    tell("a message from one member to another", &|s| {
        let (to, text) = (member(BOB), "ask 1".into());
        s.op(ANN, Op::Probe { to, text });
        let (to, text) = (member(1004), "ask 2".into());
        s.op(ANN, Op::Probe { to, text });
    });
    tell(
        "a single holder that takes part in fewer permits than it knows",
        &|s| {
            s.acquire(ANN, 1, Share::permits(1, 2))
                .acquire(BOB, 2, Share::permits(1, 5));
            s.op(ANN, released(1, 0, 1, false));
            s.remark("There still are two.").inspect();
            s.release(BOB, 2);
        },
    );
    tell("a touch that comes too late", &|s| {
        s.lock(ANN, 1).after_ms(9_999).touch(ANN, 1);
        s.after_ms(10_000).touch(ANN, 1).lock(BOB, 2);
    });
    tell("a clock that is stepped back", &|s| {
        s.after_ms(60_000).lock(ANN, 1).lock(BOB, 2);
        s.remark("A minute back: the lease ends ten seconds from now, not seventy.");
        s.after_ms(-60_000).inspect().touch(BOB, 2);
        s.after_ms(9_000)
            .touch(BOB, 2)
            .after_ms(1_000)
            .touch(BOB, 2);
        s.remark("The token is greater nevertheless.")
            .release(BOB, 2);
    });
    all
}

/// Names of locks: as given by a program, and as they appear in keys and messages.
pub(super) fn names() -> String {
    let lines = [
        (None, "orders"),
        (Some("shop"), "orders"),
        (Some("shop"), "orders:42"),
        (Some("shop:eu"), "orders:42"),
        (Some("a b"), "50% {off}"),
        (Some("ünïcödé"), "北京"),
        (None, "tab\tnew\nline\u{7f}"),
        (Some("%20"), "a%3Ab"),
        (
            Some("-._~!$&'()*+,;=@/?#[]|\\^`\"<>"),
            "-._~!$&'()*+,;=@/?#[]|\\^`\"<>",
        ),
    ]
    .map(|(namespace, name)| {
        let escaped = Name::verbatim(namespace, name).expect("a good name");
        json!({
            "namespace": namespace,
            "name": name,
            "escaped": escaped.as_str(),
            "key": format!("{KEY}{escaped}}}"),
        })
        .to_string()
    });
    format!("[\n{}\n]\n", lines.join(",\n"))
}
