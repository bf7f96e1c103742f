//! Foreign data is reported and left unchanged.

use super::*;
use auto_mutex_seam::store::RandomId;

#[test]
fn what_is_not_ours_is_an_error_and_stays() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let base = bench.key("");
    let strange: &[&[&str]] = &[
        &["SET", "", "somebody's"],
        &["SET", "", ""],
        &["SET", "", "3 i"],
        &["SET", "", "3 i "],
        &["SET", "", "3 i -5"],
        &["SET", "", "3 i 5 "],
        &["SET", "", "3 d x"],
        &["SET", "", "3 s 1 2 3"],
        &["SET", "", "3 q 1 2 3 4 5"],
        &["SET", "", "3 f 1 2 3 4 5"],
        &["SET", "", "3 t 1 2 3"],
        &["SET", "", "1 i 5"],
        &["SET", "", "2 i 12345678"],
        &["SET", "", "2 s 1 2 3"],
        &["HSET", "", "a", "b"],
        &["ZADD", "", "1", "a"],
        &["RPUSH", "", "a"],
    ];
    for words in strange {
        let mut cmd = redis::cmd(words[0]);
        cmd.arg(&base).arg(&words[2..]);
        cmd.exec(&mut bench.connection).unwrap();
        let before: Vec<u8> = run(&mut bench.connection, &["DUMP", &base]);
        for op in every_op(Ticket::random()) {
            let error = bench.put(&op).unwrap_err();
            assert_eq!(
                error.kind(),
                StoreErrorKind::Foreign,
                "{words:?} {op:?} {error}"
            );
            let is_old = ["1 ", "2 "].iter().any(|mark| words[2].starts_with(mark));
            assert_eq!(error.details().contains("older version"), is_old);
            let after: Vec<u8> = run(&mut bench.connection, &["DUMP", &base]);
            assert_eq!(after, before, "{words:?} {op:?}");
            assert_eq!(run::<i64>(&mut bench.connection, &["PTTL", &base]), -1);
        }
        run::<()>(&mut bench.connection, &["DEL", &base]);
    }
}

/// Unreadable data is reported and left unchanged. Some of the random data may be readable by chance.
#[test]
fn garbage_behind_our_mark_is_an_error_and_stays() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let base = bench.key("");
    let [first, second, third] = [(); 3].map(|()| Ticket::random());
    let mut samples: Vec<Vec<u8>> = Vec::new();
    for op in [
        acquire(first, 1, Mode::Queue),
        acquire(second, 1, Mode::Queue),
        acquire(third, 1, Mode::Queue),
        signal("a token"),
    ] {
        bench.ask(&op).unwrap();
        samples.push(run(&mut bench.connection, &["GET", &base]));
    }
    let forms: Vec<_> = samples.iter().map(|sample| &sample[..4]).collect();
    assert_eq!(forms, [b"3 s ", b"3 q ", b"3 q ", b"3 f "]);
    run::<()>(&mut bench.connection, &["FLUSHALL"]);
    let mut found = [0, 0];
    for sample in &samples {
        let cut = (5..sample.len()).step_by(7);
        let cut = cut.map(|end| sample[..end].to_vec());
        let bent = (4..sample.len()).step_by(5).map(|at| {
            let mut bent = sample.clone();
            bent[at] = !bent[at];
            bent
        });
        for garbage in cut.chain(bent) {
            for op in [
                acquire(Ticket::random(), 1, Mode::Queue),
                touch(first),
                release(second),
            ] {
                let mut set = redis::cmd("SET");
                set.arg(&base).arg(&garbage).arg("EX").arg(1000);
                set.exec(&mut bench.connection).unwrap();
                match bench.ask(&op) {
                    Ok(_) => found[0] += 1,
                    Err(error) => {
                        found[1] += 1;
                        // `Protocol` means that the data is readable, but invalid, which the client notices in the
                        // reply.
                        if error.kind() != StoreErrorKind::Protocol {
                            assert_eq!(error.kind(), StoreErrorKind::Foreign, "{op:?} {error}");
                            let after: Vec<u8> = run(&mut bench.connection, &["GET", &base]);
                            assert_eq!(after, garbage, "{op:?}");
                        }
                    }
                }
                run::<()>(&mut bench.connection, &["FLUSHALL"]);
            }
        }
    }
    assert!(found[1] > 300, "{found:?}");
}

/// Puts foreign data into a key that `op` needs, and checks that it is reported and left unchanged.
fn stays(server: &Server, suffix: &str, op: &Op) {
    let mut bench = Bench::spread(server);
    run::<()>(&mut bench.connection, &["FLUSHALL"]);
    bench.granted(&acquire(Ticket::random(), 1, Mode::Queue));
    let beside = bench.key(suffix);
    let set = ["SET", &beside, "somebody's", "EX", "1000"];
    run::<()>(&mut bench.connection, &set);
    let error = bench.ask(op).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Foreign, "{suffix} {error}");
    let value: String = run(&mut bench.connection, &["GET", &beside]);
    assert_eq!(value, "somebody's");
}

#[test]
fn a_foreign_key_beside_ours_is_an_error_and_stays() {
    let server = Server::start();
    for suffix in &KEYS[1..6] {
        stays(&server, suffix, &acquire(Ticket::random(), 1, Mode::Queue));
    }
    for suffix in &KEYS[6..8] {
        stays(&server, suffix, &signal("a token"));
    }
}

#[test]
fn an_unreadable_record_is_an_error() {
    let server = Server::start();
    for record in ["1 2 3", "garbage \u{0}", ""] {
        let mut bench = Bench::spread(&server);
        run::<()>(&mut bench.connection, &["FLUSHALL"]);
        let [first, second] = [Ticket::random(), Ticket::random()];
        bench.granted(&acquire(first, 1, Mode::Queue));
        bench.ask(&acquire(second, 1, Mode::Queue)).unwrap();
        assert_eq!(bench.replace_record(second, record), 0);
        for op in [release(first), Op::Inspect { above: 0 }] {
            let error = bench.ask(&op).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Foreign, "{record:?} {error}");
        }
    }
}

#[test]
fn an_unreadable_signal_is_an_error() {
    let server = Server::start();
    let mut bench = Bench::new(&server);
    bench.ask(&signal("a token")).unwrap();
    let signals = bench.key(":signals");
    run::<()>(
        &mut bench.connection,
        &["ZREMRANGEBYRANK", &signals, "0", "-1"],
    );
    run::<()>(&mut bench.connection, &["ZADD", &signals, "1", "nonsense"]);
    run::<()>(&mut bench.connection, &["EXPIRE", &signals, "1000"]);
    let error = bench.ask(&acquire_any(Ticket::random(), 1)).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Foreign, "{error}");
}

/// A bug in a script does not make a client give up a lock.
#[test]
fn a_fault_of_a_script_is_not_taken_for_foreign_data() {
    const CLOCK: &str = "local function clock() return 1000000 end\n";
    let server = Server::start();
    let mut bench = Bench::new(&server);
    let ticket = Ticket::random();
    bench.granted(&acquire(ticket, 1, Mode::Queue));
    for fault in ["local x = nil + 1", "local unpack_struct; unpack_struct(1)"] {
        let faulty = Scripts::made_of(CLOCK, false).edited("changes = true", fault);
        for text in faulty.texts() {
            run::<()>(&mut bench.connection, &["SCRIPT", "LOAD", text]);
        }
        bench.scripts = faulty.into();
        let error = bench.ask(&touch(ticket)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
        assert!(error.to_string().contains("attempt to"), "{error}");
    }
}
