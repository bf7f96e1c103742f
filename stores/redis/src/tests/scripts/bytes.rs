//! How long requests and states are, and what happens to numbers that don't fit into theirs.

use auto_mutex_seam::store::Retain;
use redis::Cmd;

use super::*;
use crate::script::command::{self, Part};

/// The parameters of `op` as they are sent, without the ids.
fn sent(bench: &Bench, op: &Op) -> Vec<u8> {
    let parts = [Part {
        name: &bench.name,
        op,
        joins: false,
    }];
    let mut cmd = Cmd::new();
    command::evaluate(
        &mut cmd,
        &bench.scripts,
        bench.member,
        None,
        parts.into_iter(),
    );
    let redis::Arg::Simple(sent) = cmd.args_iter().last().unwrap() else {
        panic!("no bytes");
    };
    sent[32..].to_vec()
}

fn state(bench: &mut Bench) -> Vec<u8> {
    let key = bench.key("");
    run(&mut bench.connection, &["GET", &key])
}

#[test]
fn a_cycle_of_a_mutex_is_short() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let [first, second] = [(); 2].map(|()| Ticket::random());
    let [released, acquired] = [release(first), acquire(second, 1, Mode::Queue)];
    let mut joins = false;
    let parts = [&released, &acquired].map(|op| Part {
        name: &bench.name,
        op,
        joins: std::mem::replace(&mut joins, true),
    });
    let mut cmd = Cmd::new();
    command::evaluate(
        &mut cmd,
        &bench.scripts,
        bench.member,
        None,
        parts.into_iter(),
    );
    bench.granted(&acquire(first, 1, Mode::Queue));
    let reply = attempt(&mut bench.connection, &cmd.get_packed_command());
    assert!(matches!(reply, redis::Value::Int(_)), "{reply:?}");
    // The frame: EVALSHA, the digest, and one key.
    let key = bench.key("").len();
    let frame = b"*6\r\n$7\r\nEVALSHA\r\n$40\r\n\r\n$1\r\n1\r\n$42\r\n\r\n".len() + 40 + key;
    let operations = b"$16\r\n\r\n$52\r\n\r\n".len() + 16 + 41 + "host 1 site".len();
    assert_eq!(cmd.get_packed_command().len(), frame + operations);
    // A mark, a token, and the request; after a touch, also when it came.
    let held = 12 + 41 + "host 1 site".len();
    assert_eq!(state(&mut bench).len(), held);
    bench.granted(&touch(second));
    assert_eq!(state(&mut bench).len(), held + 6);
    // The rest of the script writes it as short as its head does.
    let mut kept = touch(second);
    if let Op::Touch { lease, .. } = &mut kept {
        lease.retain = Retain::Kept;
    }
    bench.granted(&kept);
    assert_eq!(state(&mut bench).len(), held);
    bench.granted(&touch(second));
    assert_eq!(state(&mut bench).len(), held + 6);
    let free = Reply::Released { free: 1 };
    assert_eq!(bench.ask(&release(second)).unwrap(), free);
    assert_eq!(state(&mut bench).len(), 12);
}

#[test]
fn what_is_not_said_is_what_it_stands_for() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    let length = |bench: &Bench, op: &Op| sent(bench, op).len() - "host 1 site".len();
    let short = acquire(ticket, 1, Mode::Try);
    assert_eq!(length(&bench, &short), 9);
    assert_eq!(length(&bench, &acquire(ticket, 2, Mode::Try)), 21);
    let mut longer = short.clone();
    if let Op::Acquire { lease, .. } = &mut longer {
        lease.place += Duration::from_millis(1);
    }
    assert_eq!(length(&bench, &longer), 21);
    assert_eq!(sent(&bench, &touch(ticket)).len(), 9);
    let mut longer = touch(ticket);
    if let Op::Touch { lease, .. } = &mut longer {
        lease.place += Duration::from_millis(1);
    }
    assert_eq!(sent(&bench, &longer).len(), 18);
    assert!(sent(&bench, &release(ticket)).is_empty());
    // A waiter, whose place ends when its lease would.
    bench.granted(&acquire(Ticket::random(), 1, Mode::Queue));
    for op in [acquire(ticket, 1, Mode::Queue), touch(ticket)] {
        bench.ask(&op).unwrap();
        let info = bench.info();
        let waiter = &info.waiters[0];
        assert_eq!((waiter.units, info.capacity), (1, Some(1)));
        assert!(waiter.left > Duration::from_secs(5) && waiter.left <= Duration::from_secs(10));
    }
}

#[test]
fn a_number_that_does_not_fit_counts_as_the_greatest() {
    let server = Server::start();
    let mut bench = Bench::manual(&server);
    run::<()>(&mut bench.connection, &["SET", "now", "1600000000000000"]);
    let ticket = Ticket::random();
    let most = Duration::from_millis(u32::MAX.into());
    let long = most * 2;
    let ask = |counter| {
        let mut op = acquire(ticket, 1, Mode::Queue);
        if let Op::Acquire { lease, .. } = &mut op {
            (lease.counter, lease.hold, lease.place) = (counter, long, long);
        }
        op
    };
    for counter in [1 << 40, 1 << 41, 1 << 40] {
        bench.granted(&ask(counter));
        assert_eq!(bench.info().holders[0].left, most);
    }
    // Such a counter is above all that fit.
    bench.granted(&touch(ticket));
    assert_eq!(bench.info().holders[0].left, most);
}

/// The time between a grant and a touch has six bytes in the state of a single holder.
#[test]
fn a_lock_is_held_for_longer_than_its_state_can_say() {
    const BEGIN: u64 = 1_600_000_000_000_000;
    let server = Server::start();
    let mut bench = Bench::manual(&server);
    let at = |bench: &mut Bench, now: u64| {
        run::<()>(&mut bench.connection, &["SET", "now", &now.to_string()]);
    };
    let ticket = Ticket::random();
    at(&mut bench, BEGIN);
    let token = bench.granted(&acquire(ticket, 1, Mode::Queue));
    // As if it had been touched all the time, until a second before the end.
    let end = BEGIN + (1 << 48);
    let fresh = state(&mut bench);
    assert_eq!(&fresh[..4], b"3 s ");
    let later = (end - 1_000_000 - BEGIN).to_le_bytes();
    let touched = [b"3 t ", &fresh[4..12], &later[..6], &fresh[12..]].concat();
    let key = bench.key("");
    let mut set = redis::cmd("SET");
    set.arg(&key).arg(touched).arg("EX").arg(1000);
    set.exec(&mut bench.connection).unwrap();
    for (now, form) in [
        (end - 500_000, b"3 t "),
        (end, b"3 q "),
        (end + 5_000_000, b"3 q "),
        (end + 10_000_000, b"3 q "),
    ] {
        at(&mut bench, now);
        assert_eq!(bench.granted(&touch(ticket)), token);
        assert_eq!(&state(&mut bench)[..4], form);
        let left = bench.info().holders[0].left;
        assert_eq!(left, Duration::from_secs(10));
    }
    bench.ask(&release(ticket)).unwrap();
    assert!(bench.granted(&acquire(ticket, 1, Mode::Queue)) > token);
}
