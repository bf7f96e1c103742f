//! Which keys exist, and for how long.

use auto_mutex_seam::store::{RW_LOCK, RandomId, Retain};

use super::*;

const TEN_MINUTES: Duration = Duration::from_secs(600);
const DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn an_uncontended_lock_is_one_key() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    let granted = bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap();
    assert_eq!(bench.keys(), [""]);
    assert!(bench.time_to_live("") > TEN_MINUTES);
    // A repeated request gets the same grant.
    assert_eq!(
        bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap(),
        granted
    );
    bench.ask(&release(ticket)).unwrap();
    assert_eq!(bench.keys(), [""]);
    assert!(bench.time_to_live("") > Duration::from_secs(590));
}

#[test]
fn a_key_that_keeps_its_time_to_live_keeps_enough_of_it() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    // The lock was last held long ago, so the next grant sets the time to live.
    let base = bench.key("");
    let mut old = b"3 i ".to_vec();
    old.extend_from_slice(&1_600_000_000_000_000_f64.to_le_bytes());
    let mut set = redis::cmd("SET");
    set.arg(&base).arg(&old).arg("EX").arg(5);
    set.exec(&mut bench.connection).unwrap();
    for _ in 0..20 {
        let ticket = Ticket::random();
        bench.granted(&acquire(ticket, 1, Mode::Queue));
        assert!(bench.time_to_live("") > Duration::from_secs(930));
        bench.ask(&release(ticket)).unwrap();
        assert!(bench.time_to_live("") > Duration::from_secs(930));
    }
    // Keys written without the fast path are kept at least as long.
    let tickets: Vec<_> = (0..3).map(|_| Ticket::random()).collect();
    let mut op = acquire(tickets[0], 1, Mode::Queue);
    if let Op::Acquire { lease, .. } = &mut op {
        lease.retain = Retain::InUse;
    }
    bench.granted(&op);
    bench.ask(&acquire(tickets[1], 1, Mode::Queue)).unwrap();
    for &ticket in &tickets[..2] {
        bench.ask(&release(ticket)).unwrap();
    }
    assert!(bench.time_to_live("") > Duration::from_secs(1190));
    bench.granted(&acquire(tickets[2], 1, Mode::Queue));
    assert!(bench.time_to_live("") > Duration::from_secs(930));
}

#[test]
fn what_is_left_of_a_crowd_is_the_token() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let tickets: Vec<_> = (0..2500).map(|_| Ticket::random()).collect();
    for &ticket in &tickets {
        let mut op = acquire(ticket, 1, Mode::Queue);
        if let Op::Acquire { lease, .. } = &mut op {
            // No place or lease ends before the last waiter has asked.
            (lease.hold, lease.place) = (DAY, DAY);
        }
        bench.put(&op).unwrap();
    }
    let info = bench.info();
    assert_eq!((info.holders.len(), info.waiters.len()), (1, 2499));
    assert!(
        info.waiters
            .iter()
            .map(|waiter| waiter.ticket)
            .eq(tickets[1..].iter().copied())
    );
    let Reply::Queued { position, .. } = bench.ask(&touch(tickets[2000])).unwrap() else {
        panic!("not queued");
    };
    assert_eq!(position, 2000);
    for &ticket in &tickets {
        bench.put(&release(ticket)).unwrap();
    }
    assert_eq!(bench.keys(), [""]);
}

#[test]
fn an_inspect_without_the_waiters_reads_none_of_them() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let [writer, reader] = [RW_LOCK, 1];
    let mut tickets = Vec::new();
    for _ in 0..40 {
        let ticket = Ticket::random();
        bench.ask(&acquire_units(ticket, writer)).unwrap();
        tickets.push(ticket);
        let waiting = tickets.len() - 1;
        for (above, listed) in [(0, waiting), (reader, waiting), (writer, 0)] {
            let Reply::Info(info) = bench.ask(&Op::Inspect { above }).unwrap() else {
                panic!("no state");
            };
            assert_eq!((info.holders.len(), info.waiters.len()), (1, listed));
        }
    }
    assert_eq!(bench.replace_record(tickets[39], "unreadable"), 0);
    assert!(bench.put(&Op::Inspect { above: reader }).is_err());
    assert!(bench.put(&Op::Inspect { above: writer }).is_ok());
}

#[test]
fn keys_live_longer_than_what_is_parked() {
    let server = Server::start();
    let mut bench = Bench::spread(&server);
    let ticket = Ticket::random();
    let long = Duration::from_secs(7_200);
    bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap();
    let park = Op::Release {
        ticket,
        park: long,
        tomb: false,
        used: 0,
    };
    bench.ask(&park).unwrap();
    assert!(bench.time_to_live("") > long);
    // A touch of an unknown ticket does not shorten the time to live.
    bench.ask(&touch(Ticket::random())).unwrap();
    assert!(bench.time_to_live("") > long);
    // A waiter behind the parked ticket does not shorten the time to live either.
    bench
        .ask(&acquire(Ticket::random(), 1, Mode::Queue))
        .unwrap();
    for suffix in ["", ":queue", ":tickets"] {
        assert!(bench.time_to_live(suffix) > long, "{suffix}");
    }
}

#[test]
fn a_tombstone_lives_for_half_a_minute() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    let bury = Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: true,
        used: 0,
    };
    assert_eq!(bench.ask(&bury).unwrap(), Reply::Gone);
    assert!(bench.time_to_live(":gone") <= Duration::from_secs(30));
    assert_eq!(
        bench.ask(&acquire(ticket, 1, Mode::Queue)).unwrap(),
        Reply::Refused
    );
    bench.granted(&acquire(Ticket::random(), 1, Mode::Queue));
}

#[test]
fn asking_about_nothing_leaves_nothing() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    for op in every_question(Ticket::random()) {
        bench.ask(&op).unwrap();
        assert!(bench.keys().is_empty(), "{op:?}");
    }
}

#[test]
fn signals_and_all_beside_them_are_kept_for_a_day() {
    let server = Server::start();
    let mut bench = Bench::spread(&server);
    let tickets: Vec<_> = (0..3).map(|_| Ticket::random()).collect();
    // Two tickets hold one unit each before there is a signal.
    bench.granted(&acquire(tickets[0], 2, Mode::Queue));
    bench.granted(&acquire(tickets[1], 2, Mode::Queue));
    bench.ask(&acquire(tickets[2], 2, Mode::Queue)).unwrap();
    assert!(bench.time_to_live(":held") < DAY);
    bench.ask(&signal("a token")).unwrap();
    for suffix in ["", ":held", ":tickets", ":queue", ":signals"] {
        assert!(bench.time_to_live(suffix) >= DAY, "{suffix:?}");
    }
    for &ticket in &tickets {
        bench.ask(&release(ticket)).unwrap();
    }
    assert_eq!(bench.keys(), ["", ":gone", ":signals"]);
    for suffix in ["", ":signals"] {
        assert!(bench.time_to_live(suffix) >= DAY - Duration::from_secs(60));
    }
    // Now the first key has the only signal, which must live as long as before, even if its holder crashes.
    bench.spread = false;
    bench.granted(&acquire_any(tickets[0], 2));
    assert_eq!(bench.keys(), ["", ":gone"]);
    assert!(bench.time_to_live("") >= DAY);
    let used = u64::MAX;
    let consumed = Op::Release {
        ticket: tickets[0],
        park: Duration::ZERO,
        tomb: false,
        used,
    };
    assert_eq!(bench.ask(&consumed).unwrap(), Reply::Released { free: 3 });
}

#[test]
fn a_deleted_name_remembers_its_token_only() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    let token = bench.granted(&acquire(ticket, 1, Mode::Queue));
    assert_eq!(
        bench.ask(&Op::Delete).unwrap(),
        Reply::InUse {
            holders: 1,
            waiters: 0
        }
    );
    bench.ask(&release(ticket)).unwrap();
    assert!(bench.info().exists);
    assert_eq!(bench.ask(&Op::Delete).unwrap(), Reply::Count(1));
    let info = bench.info();
    assert_eq!((info.exists, info.token), (false, token));
    assert_eq!(bench.ask(&Op::Delete).unwrap(), Reply::Count(0));
    // A notification that reaches no waiter does not create the name.
    let notify = Op::Signal {
        ticket,
        signal: Signal::All,
    };
    assert_eq!(bench.ask(&notify).unwrap(), Reply::Count(0));
    assert!(!bench.info().exists);
    assert!(bench.granted(&acquire(ticket, 1, Mode::Queue)) > token);
    assert!(bench.info().exists);
}

#[test]
fn after_the_clock_was_stepped_back_a_key_lives_for_longer() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let base = bench.key("");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let last = (now + Duration::from_secs(1_000)).as_micros() as f64;
    let mut idle = b"3 i ".to_vec();
    idle.extend_from_slice(&last.to_le_bytes());
    let mut set = redis::cmd("SET");
    set.arg(&base).arg(&idle).arg("EX").arg(5);
    set.exec(&mut bench.connection).unwrap();
    let [ticket, other] = [(); 2].map(|()| Ticket::random());
    let long = Duration::from_secs(2_100);
    assert!(bench.granted(&acquire(ticket, 1, Mode::Queue)) > last as u64);
    assert!(bench.time_to_live("") > long);
    bench.granted(&touch(ticket));
    assert!(bench.time_to_live("") > long);
    bench.ask(&acquire(other, 1, Mode::Queue)).unwrap();
    bench.ask(&release(other)).unwrap();
    bench.ask(&release(ticket)).unwrap();
    assert!(bench.time_to_live("") > long);
}

#[test]
fn a_holder_with_much_to_say_is_no_part_of_a_list() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let [holder, waiter] = [(); 2].map(|()| Ticket::random());
    let mut op = acquire(holder, 1, Mode::Queue);
    if let Op::Acquire { meta, .. } = &mut op {
        *meta = format!("host 1 site here:{}", "x".repeat(70_000)).into();
    }
    bench.granted(&op);
    let queued = bench.ask(&acquire(waiter, 1, Mode::Queue)).unwrap();
    assert!(matches!(queued, Reply::Queued { position: 1, .. }));
    assert_eq!(bench.info().waiters.len(), 1);
    bench.granted(&touch(holder));
    assert_eq!(bench.ask(&release(waiter)).unwrap(), Reply::Cancelled);
    let free = Reply::Released { free: 1 };
    assert_eq!(bench.ask(&release(holder)).unwrap(), free);
}

fn acquire_units(ticket: Ticket, units: u32) -> Op {
    let mut op = acquire(ticket, RW_LOCK, Mode::Queue);
    if let Op::Acquire { share, .. } = &mut op {
        *share = Share::of(units, RW_LOCK);
    }
    op
}
