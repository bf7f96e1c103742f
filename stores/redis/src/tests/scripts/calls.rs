//! How many commands the server runs for the most frequent operations.

use auto_mutex_seam::store::{Lease, RandomId};

use super::*;

#[test]
fn plain_operations_are_few_calls() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let [ticket, other, third] = [(); 3].map(|()| Ticket::random());
    let touched = |units| Op::Touch {
        lease: Lease::of(ticket, 3, Duration::from_secs(10)),
        units,
    };
    for op in [
        acquire(ticket, 4, Mode::Queue),
        touched(0),
        release(ticket),
        acquire_any(ticket, 1),
        acquire(other, 1, Mode::Try),
        acquire(other, 1, Mode::Queue),
        touched(0),
        acquire(third, 1, Mode::Queue),
        release(other),
        acquire(other, 1, Mode::Queue),
        release(other),
        release(third),
        release(ticket),
    ] {
        run::<()>(&mut bench.connection, &["CONFIG", "RESETSTAT"]);
        bench.put(&op).unwrap();
        let info: String = run(&mut bench.connection, &["INFO", "commandstats"]);
        let calls = |line: &str| {
            let (command, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let inner = ["evalsha", "config|resetstat", "info"].contains(&command);
            (!inner)
                .then(|| rest.split(',').next()?.parse::<u32>().ok())
                .flatten()
        };
        let calls: u32 = info.lines().filter_map(calls).sum();
        assert!(calls <= 3, "{op:?} {info}");
    }
}

#[test]
fn a_downgrade_makes_room() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let writer = Ticket::random();
    let mut all = acquire(writer, 4, Mode::Queue);
    if let Op::Acquire { share, .. } = &mut all {
        share.units = 4;
    }
    bench.granted(&all);
    assert_eq!(bench.info().used, 4);
    for (units, used) in [(5, 4), (0, 4), (1, 1), (2, 1)] {
        let mut lower = touch(writer);
        if let Op::Touch { units: kept, .. } = &mut lower {
            *kept = units;
        }
        bench.granted(&lower);
        assert_eq!(bench.info().used, used, "{units}");
    }
    assert_eq!(bench.keys(), [""]);
    bench.granted(&acquire(Ticket::random(), 4, Mode::Queue));
}
