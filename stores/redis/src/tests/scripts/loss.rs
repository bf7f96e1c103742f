//! Keys removed by another client, or evicted by the server.

use super::*;
use auto_mutex_seam::store::RandomId;

#[test]
fn a_state_that_lost_a_part_keeps_its_holder_and_its_waiters_ask_anew() {
    let server = Server::start();
    for lost in [":tickets", ":queue"] {
        let mut bench = Bench::spread(&server);
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        let [first, second] = [Ticket::random(), Ticket::random()];
        bench.granted(&acquire(first, 1, Mode::Queue));
        bench.ask(&acquire(second, 1, Mode::Queue)).unwrap();
        bench.remove(lost);
        bench.granted(&touch(first));
        assert_eq!(bench.ask(&touch(second)).unwrap(), Reply::Gone);
        let again = bench.ask(&acquire(second, 1, Mode::Queue)).unwrap();
        assert!(matches!(again, Reply::Queued { position: 1, .. }));
        // The second ticket's member does not listen, so the ticket is passed over.
        assert_eq!(
            bench.ask(&release(first)).unwrap(),
            Reply::Released { free: 1 }
        );
    }
}

#[test]
fn a_name_that_lost_its_many_holders_is_closed() {
    let server = Server::start();
    for lost in [":tickets", ":held"] {
        let mut bench = Bench::spread(&server);
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        let [first, second, third] = [Ticket::random(), Ticket::random(), Ticket::random()];
        bench.granted(&acquire(first, 2, Mode::Queue));
        bench.ask(&acquire(second, 2, Mode::Queue)).unwrap();
        bench.remove(lost);
        let error = bench.ask(&acquire(third, 2, Mode::Queue)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Foreign, "{error}");
    }
}

#[test]
fn a_removed_first_key_is_a_new_beginning() {
    let server = Server::start();
    let mut bench = Bench::spread(&server);
    let tickets = [Ticket::random(), Ticket::random(), Ticket::random()];
    bench.granted(&acquire(tickets[0], 1, Mode::Queue));
    bench.ask(&acquire(tickets[1], 1, Mode::Queue)).unwrap();
    bench.remove("");
    bench.granted(&acquire(tickets[2], 1, Mode::Queue));
    let queued = bench.ask(&acquire(tickets[0], 1, Mode::Queue)).unwrap();
    assert!(matches!(queued, Reply::Queued { position: 1, .. }));
    let info = bench.info();
    assert_eq!((info.holders.len(), info.waiters.len()), (1, 1));
}

#[test]
fn signals_of_before_do_not_come_back() {
    let server = Server::start();
    let mut bench = Bench::spread(&server);
    bench.ask(&signal("old")).unwrap();
    bench.ask(&signal("old too")).unwrap();
    bench.remove("");
    assert_eq!(bench.info().signals, 0);
    bench.ask(&signal("new")).unwrap();
    assert_eq!(bench.info().signals, 1);
    let Reply::Granted { signal, .. } = bench.ask(&acquire_any(Ticket::random(), 1)).unwrap()
    else {
        panic!("not granted");
    };
    assert_eq!(signal.as_deref(), Some("new"));
}

#[test]
fn lost_signals_cost_nothing_else() {
    let server = Server::start();
    let mut bench = Bench::spread(&server);
    let [holder, waiter] = [Ticket::random(), Ticket::random()];
    bench.granted(&acquire(holder, 1, Mode::Queue));
    bench.ask(&acquire(waiter, 1, Mode::Queue)).unwrap();
    for text in ["a", "b", "c"] {
        bench.ask(&signal(text)).unwrap();
    }
    // One signal is lost.
    let signals = bench.key(":signals");
    let first = ["ZREMRANGEBYRANK", &signals, "0", "0"];
    run::<()>(&mut bench.connection, &first);
    bench.granted(&touch(holder));
    // All signals are lost.
    bench.remove(":signals");
    assert_eq!(bench.info().signals, 0);
    bench.granted(&touch(holder));
    assert!(matches!(
        bench.ask(&touch(waiter)).unwrap(),
        Reply::Queued { position: 1, .. }
    ));
    assert_eq!(bench.ask(&signal("d")).unwrap(), Reply::Count(1));
    assert_eq!(bench.info().signals, 1);
}
