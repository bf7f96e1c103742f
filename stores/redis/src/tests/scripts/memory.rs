//! With full memory, the server refuses new requests and nothing else.

use super::*;
use auto_mutex_seam::store::RandomId;

#[test]
fn a_full_memory_keeps_no_signal_from_coming_back() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let tickets: Vec<_> = (0..3).map(|_| Ticket::random()).collect();
    for text in ["a", "b"] {
        bench.ask(&signal(text)).unwrap();
    }
    for &ticket in &tickets {
        bench.granted(&acquire_any(ticket, 1));
    }
    assert_eq!(bench.info().signals, 0);
    run::<()>(&mut bench.connection, &["CONFIG", "SET", "maxmemory", "1"]);
    let mut new = Bench::new(&server);
    new.name = Name::from_escaped("ns:Type:new");
    for op in [signal("c"), acquire(Ticket::random(), 1, Mode::Queue)] {
        let error = new.ask(&op).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Busy, "{op:?} {error}");
    }
    for &ticket in &tickets {
        bench.granted(&touch(ticket));
    }
    assert_eq!(
        bench.ask(&release(tickets[1])).unwrap(),
        Reply::Released { free: 1 }
    );
    assert_eq!(bench.ask(&Op::Force).unwrap(), Reply::Count(2));
    let info = bench.info();
    assert_eq!((info.signals, info.holders.len()), (2, 0));
    assert_eq!(bench.ask(&Op::Delete).unwrap(), Reply::Count(1));
    run::<()>(&mut bench.connection, &["CONFIG", "SET", "maxmemory", "0"]);
    bench.granted(&acquire(Ticket::random(), 1, Mode::Queue));
}
