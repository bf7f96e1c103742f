//! Messages reach another client unchanged; other texts are ignored.

use std::time::Duration;

use crate::base::name::Name;
use crate::config::Deadlock;
use crate::deadlock::graph::{Wait, WaitId, WaitingHold};
use crate::deadlock::probe::{Answer, MOST_BYTES, MOST_TICKETS, Probe};
use crate::store::{RandomId, Ticket, TicketRecord};

/// Messages have only the public halves of tickets.
fn named() -> Ticket {
    Ticket::random().without_secret()
}

fn wait(after: Option<Ticket>, mode: Deadlock) -> Wait {
    Wait {
        id: WaitId::random(),
        name: Name::from_escaped("n:a,b%20c"),
        units: 3,
        after,
        waited: Duration::from_millis(1500),
        meta: "host,pod 7 f%20at%20x:1 holds:n:m".into(),
        mode,
    }
}

#[test]
fn what_is_written_is_read() {
    let hold = WaitingHold {
        ticket: named(),
        token: u64::MAX,
        units: 1 << 30,
        held: Duration::from_secs(12),
        meta: "host 7 é\n at x".into(),
        waits: vec![
            wait(None, Deadlock::Fail),
            wait(Some(named()), Deadlock::Report),
        ],
    };
    let answer = Answer {
        round: 17,
        holds: vec![
            hold.clone(),
            WaitingHold {
                waits: vec![],
                ..hold
            },
        ],
        waiting: vec![named()],
        free: vec![named(), named()],
    };
    let tickets = (0..MOST_TICKETS).map(|_| named()).collect();
    for probe in [
        Probe::Ask { round: 0, tickets },
        Probe::Answer(answer),
        Probe::Answer(Answer::default()),
        Probe::Search {
            wait: WaitId::random(),
        },
    ] {
        let text = probe.text();
        assert!(!text.contains('\n'), "{text}");
        assert_eq!(Probe::read(&text), Some(probe), "{text}");
    }
}

#[test]
fn anything_else_is_ignored() {
    let (id, ticket) = (
        WaitId::random(),
        format!("{:016x}", Ticket::random().public()),
    );
    for text in [
        String::new(),
        "ask".into(),
        "ask x".into(),
        format!("ask 1 {ticket} more"),
        format!("ask -1 {ticket}"),
        "answer".into(),
        "answer 1 hold".into(),
        format!("answer 1 hold {ticket} 1 1 1"),
        format!("answer 1 wait {id} n 1 - 1 0 m"),
        format!("answer 1 hold {ticket} 1 1 1 m wait {id}  1 - 1 0 m"),
        format!("answer 1 hold {ticket} 1 99999999999 1 m"),
        "answer 1 new word".into(),
        "search".into(),
        format!("search {id} more"),
        "later 1 2 3".into(),
    ] {
        assert_eq!(Probe::read(&text), None, "{text}");
    }
    let many: String = (0..=MOST_TICKETS).map(|_| format!(" {ticket}")).collect();
    assert_eq!(Probe::read(&format!("ask 1{many}")), None);
}

/// Makes a ticket's record, as the store returns it.
pub(super) fn record(ticket: Ticket, member: crate::store::MemberId, units: u32) -> TicketRecord {
    TicketRecord {
        ticket,
        member,
        units,
        takes: false,
        since: 1,
        token: 1,
        meta: "h 1 s".into(),
        left: Duration::from_secs(1),
        parked: false,
        passed_over: false,
        kept: false,
    }
}

/// A notification of PostgreSQL has a limit, and a task may hold many locks.
#[test]
fn a_long_answer_is_sent_in_parts() {
    let hold = |waits: usize, meta: &str| WaitingHold {
        ticket: named(),
        token: u64::MAX,
        units: 1,
        held: Duration::from_secs(12),
        meta: meta.to_owned().into(),
        waits: (0..waits)
            .map(|_| wait(Some(named()), Deadlock::Fail))
            .collect(),
    };
    let long = "x".repeat(MOST_BYTES);
    let (huge, endless) = (hold(2, &long), hold(100, ""));
    let answer = Answer {
        round: 17,
        holds: (0..62)
            .map(|_| hold(3, "host 7 site"))
            .chain([huge.clone(), endless.clone()])
            .collect(),
        waiting: vec![named(); 2],
        free: Vec::new(),
    };
    let parts = answer.clone().parts();
    assert!(parts.len() > 3, "{}", parts.len());
    for part in &parts {
        let text = Probe::Answer(part.clone()).text();
        assert!(text.len() < MOST_BYTES + 1600, "{}", text.len());
        assert_eq!(Probe::read(&text), Some(Probe::Answer(part.clone())));
    }
    let holds: Vec<_> = parts.iter().flat_map(|part| &part.holds).collect();
    assert_eq!(holds.len(), 63);
    assert!(
        holds
            .iter()
            .zip(&answer.holds)
            .all(|(sent, held)| sent.ticket == held.ticket)
    );
    assert_eq!((&*holds[62].meta, holds[62].waits.len()), ("", 2));
    assert_eq!(parts[0].free, [endless.ticket]);
}
