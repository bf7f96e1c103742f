//! Many tickets of one name: each run of a script handles a few of them, and later runs handle the rest. No time
//! passes, however long a machine takes for all these operations, unless a test lets it pass.

use std::time::SystemTime;

use auto_mutex_seam::store::{LIMITS, Lease, Message, RandomId, open_message};
use redis::PubSub;

use super::*;
use crate::script::command::channel;

const BATCH: usize = LIMITS.batch;
const MANY: usize = 5 * BATCH;
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(1);

/// A name with a manual clock, and the member that gets all messages about it.
struct Crowd {
    bench: Bench,
    inbox: PubSub<'static>,
    tickets: Vec<Ticket>,
    now: Duration,
}

impl Crowd {
    fn new(server: &Server) -> Self {
        // The connection lives as long as the process, because PubSub borrows it.
        let inbox: &'static mut Connection = Box::leak(Box::new(server.connection()));
        let (bench, mut inbox) = (Bench::manual(server), inbox.as_pubsub());
        inbox.subscribe(channel(bench.member)).unwrap();
        inbox.subscribe("end").unwrap();
        // Keys end by the server's clock.
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        let mut crowd = Self {
            bench,
            inbox,
            tickets: Vec::new(),
            now,
        };
        crowd.pass(Duration::ZERO);
        crowd
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let set = ["SET", "now", &self.now.as_micros().to_string()];
        run::<()>(&mut self.bench.connection, &set);
    }

    fn come(&mut self, count: usize, share: &Share, place: Duration) -> Vec<Ticket> {
        let tickets: Vec<_> = (0..count).map(|_| Ticket::random()).collect();
        for &ticket in &tickets {
            let op = Op::Acquire {
                lease: Lease {
                    place,
                    ..Lease::of(ticket, 1, LONG)
                },
                share: *share,
                mode: Mode::Queue,
                meta: "host 1 site".into(),
            };
            self.bench.put(&op).unwrap();
        }
        self.tickets.extend(&tickets);
        tickets
    }

    fn touch(&mut self, ticket: Ticket) -> Reply {
        let lease = Lease::of(ticket, 2, LONG);
        self.bench.ask(&Op::Touch { lease, units: 0 }).unwrap()
    }

    /// Returns the messages so far.
    fn messages(&mut self) -> Vec<Message> {
        run::<()>(&mut self.bench.connection, &["PUBLISH", "end", ""]);
        let mut messages = Vec::new();
        loop {
            let message = self.inbox.get_message().unwrap();
            if message.get_channel_name() == "end" {
                return messages;
            }
            let payload: String = message.get_payload().unwrap();
            let find = |_: &Name, public| {
                let mut tickets = self.tickets.iter().copied();
                tickets.find(|ticket| ticket.public() == public)
            };
            messages.push(open_message(&payload, find).expect("a message of ours").1);
        }
    }

    /// Follows the messages until none comes. Returns the granted tickets, in order.
    fn follow(&mut self) -> Vec<(Ticket, u64)> {
        let mut granted = Vec::new();
        loop {
            let messages = self.messages();
            if messages.is_empty() {
                return granted;
            }
            assert!(messages.len() <= (BATCH + 3) * MANY, "no end");
            for message in messages {
                match message {
                    Message::Grant { ticket, token, .. } => {
                        granted.push((ticket, token));
                        assert!(matches!(self.touch(ticket), Reply::Granted { .. }));
                    }
                    Message::Near { ticket } => drop(self.touch(ticket)),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn makes_unreadable(&mut self, ticket: Ticket) {
        assert_eq!(self.bench.replace_record(ticket, "unreadable"), 0);
    }
}

fn tickets(granted: &[(Ticket, u64)]) -> Vec<Ticket> {
    granted.iter().map(|grant| grant.0).collect()
}

fn grants(messages: &[Message]) -> usize {
    let is_grant = |message: &&Message| matches!(message, Message::Grant { .. });
    messages.iter().filter(is_grant).count()
}

#[test]
fn a_crowd_of_readers_enters_in_several_steps_and_in_order() {
    let server = Server::start();
    let mut crowd = Crowd::new(&server);
    let writer = crowd.come(1, &Share::WRITER, LONG)[0];
    let readers = crowd.come(MANY, &Share::READER, LONG);
    // All have asked once more since they came, as members do in time.
    for &reader in &readers {
        crowd.touch(reader);
    }
    drop(crowd.messages());
    crowd.bench.ask(&release(writer)).unwrap();
    let info = crowd.bench.info();
    assert_eq!(
        (info.holders.len(), info.waiters.len()),
        (BATCH, MANY - BATCH)
    );
    assert_eq!(tickets(&crowd.follow()), readers);
    assert_eq!(crowd.bench.info().holders.len(), MANY);
}

#[test]
fn all_waiters_of_a_condition_are_notified_once() {
    let server = Server::start();
    let mut crowd = Crowd::new(&server);
    let waiters = crowd.come(MANY, &Share::NOTIFICATION, LONG);
    let all = Op::Signal {
        ticket: Ticket::random(),
        signal: Signal::All,
    };
    assert_eq!(crowd.bench.ask(&all).unwrap(), Reply::Count(MANY as u64));
    assert_eq!(crowd.bench.info().signals, (MANY - BATCH) as u64);
    // A later waiter is not notified.
    crowd.come(1, &Share::NOTIFICATION, LONG);
    let granted = crowd.follow();
    assert_eq!(tickets(&granted), waiters);
    for (ticket, used) in granted {
        let done = Op::Release {
            ticket,
            park: Duration::ZERO,
            tomb: false,
            used,
        };
        crowd.bench.ask(&done).unwrap();
    }
    let info = crowd.bench.info();
    assert_eq!((info.signals, info.waiters.len()), (0, 1));
}

/// Only the waiter behind all the dead ones listens.
#[test]
fn many_dead_waiters_are_passed_over_in_several_steps() {
    let server = Server::start();
    let mut crowd = Crowd::new(&server);
    let mut dead = Bench::manual(&server);
    let holder = crowd.come(1, &Share::MUTEX, LONG)[0];
    for _ in 0..MANY {
        dead.put(&acquire(Ticket::random(), 1, Mode::Queue))
            .unwrap();
    }
    let last = crowd.come(1, &Share::MUTEX, LONG)[0];
    crowd.bench.ask(&release(holder)).unwrap();
    for step in 2..=MANY / BATCH {
        let Reply::Queued { position, .. } = crowd.touch(last) else {
            panic!("granted in step {step}");
        };
        assert_eq!(position as usize, MANY - step * BATCH + 1);
    }
    assert!(matches!(crowd.touch(last), Reply::Granted { .. }));
}

#[test]
fn places_that_have_ended_are_dropped_in_several_steps() {
    let server = Server::start();
    let mut crowd = Crowd::new(&server);
    let holder = crowd.come(1, &Share::MUTEX, LONG)[0];
    crowd.come(MANY, &Share::MUTEX, SHORT);
    crowd.pass(2 * SHORT);
    assert!(crowd.bench.info().waiters.is_empty());
    let count = ["ZCARD", &crowd.bench.key(":waits")];
    for step in 1..MANY / BATCH {
        crowd.touch(holder);
        let left: usize = run(&mut crowd.bench.connection, &count);
        assert_eq!(left, MANY - step * BATCH);
    }
    crowd.touch(holder);
    assert_eq!(crowd.bench.keys(), [""]);
}

/// An operation that read the record of another waiter would fail here.
#[test]
fn an_operation_reads_few_waiters() {
    let server = Server::start();
    let mut crowd = Crowd::new(&server);
    let holder = crowd.come(1, &Share::MUTEX, LONG)[0];
    let waiters = crowd.come(MANY, &Share::MUTEX, LONG);
    crowd.makes_unreadable(waiters[MANY / 2]);
    // A place that ends immediately makes the next operation look for what has ended.
    for _ in 0..3 {
        crowd.come(1, &Share::MUTEX, SHORT);
        crowd.pass(2 * SHORT);
        crowd.touch(holder);
        crowd.touch(waiters[MANY - 1]);
    }
    let busy = acquire(Ticket::random(), 1, Mode::Try);
    let busy = crowd.bench.ask(&busy).unwrap();
    assert!(matches!(busy, Reply::Busy { holder: Some(_) }));
    crowd.bench.ask(&release(holder)).unwrap();
    let messages = crowd.messages();
    assert_eq!(grants(&messages), 1, "{messages:?}");
    assert!(matches!(crowd.touch(waiters[0]), Reply::Granted { .. }));
    crowd.bench.ask(&release(waiters[0])).unwrap();
}

#[test]
fn an_operation_reads_few_holders() {
    let server = Server::start();
    let mut crowd = Crowd::new(&server);
    let readers = crowd.come(MANY, &Share::READER, LONG);
    let writer = crowd.come(1, &Share::WRITER, LONG)[0];
    let first = crowd.bench.info().holders[0].token;
    crowd.makes_unreadable(readers[MANY / 2]);
    for reader in &readers[..3] {
        let Reply::Queued {
            holder: Some(eldest),
            ..
        } = crowd.touch(writer)
        else {
            panic!("no holder");
        };
        assert!(eldest.token >= first);
        crowd.bench.ask(&release(*reader)).unwrap();
    }
    let kick = Op::Kick {
        token: first,
        by: "h 1 ops".into(),
    };
    assert_eq!(crowd.bench.ask(&kick).unwrap(), Reply::Count(0));
}
