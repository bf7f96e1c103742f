//! Messages reach another client unchanged; other texts are ignored.

use std::time::Duration;

use super::fresh;
use crate::Ticket;
use crate::deadlock::probe::{Answer, MOST_BYTES, MOST_TICKETS, Probe};
use crate::deadlock::{Wait, WaitingHold};

/// Messages have only the public halves of tickets.
fn named() -> Ticket {
    fresh().without_secret()
}

fn read(text: &str) -> Option<Probe<String>> {
    Probe::read(text, str::to_owned)
}

fn wait(after: Option<Ticket>, fails: bool) -> Wait<String> {
    Wait {
        id: fresh(),
        name: "n:a,b%20c".into(),
        units: 3,
        after,
        waited: Duration::from_millis(1500),
        meta: "host,pod%207%20f%2520at%2520x%3A1%20holds%3An%3Am".into(),
        fails,
    }
}

#[test]
fn what_is_written_is_read() {
    let hold = WaitingHold {
        ticket: named(),
        token: u64::MAX,
        units: 1 << 30,
        held: Duration::from_secs(12),
        meta: "host%207%20%C3%A9%0A%20at%20x".into(),
        waits: vec![wait(None, true), wait(Some(named()), false)],
    };
    let answer = Answer {
        pass: 17,
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
        Probe::Ask { pass: 0, tickets },
        Probe::Answer(answer),
        Probe::Answer(Answer::new(0)),
        Probe::Search { wait: fresh() },
    ] {
        let text = probe.text();
        assert!(!text.contains('\n'), "{text}");
        assert_eq!(read(&text), Some(probe), "{text}");
    }
}

#[test]
fn anything_else_is_ignored() {
    let (id, ticket) = (fresh(), format!("{:016x}", fresh().public()));
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
        assert_eq!(read(&text), None, "{text}");
    }
    let many: String = (0..=MOST_TICKETS).map(|_| format!(" {ticket}")).collect();
    assert_eq!(read(&format!("ask 1{many}")), None);
}

/// Older and newer clients search together.
#[test]
fn messages_look_as_they_always_have() {
    let ticket = |digits: u64| Ticket::of_public(digits);
    let hold = WaitingHold {
        ticket: ticket(1),
        token: 7,
        units: 1,
        held: Duration::from_millis(12_345),
        meta: "host%207%20site".into(),
        waits: vec![Wait {
            id: Ticket::from_bytes([0xab; 16]),
            after: Some(ticket(0xf)),
            ..wait(None, true)
        }],
    };
    let answer = Answer {
        holds: vec![hold],
        waiting: vec![ticket(2)],
        free: vec![ticket(3)],
        ..Answer::new(17)
    };
    let ask = Probe::<String>::Ask {
        pass: 17,
        tickets: vec![ticket(2), ticket(3)],
    };
    assert_eq!(ask.text(), "ask 17 0000000000000002 0000000000000003");
    let text = "answer 17 waiting 0000000000000002 free 0000000000000003 \
                hold 0000000000000001 7 1 12345 host%207%20site \
                wait abababababababababababababababab n:a,b%20c 3 000000000000000f 1500 1 \
                host,pod%207%20f%2520at%2520x%3A1%20holds%3An%3Am";
    assert_eq!(Probe::Answer(answer).text(), text);
    let wait = Ticket::from_bytes([0xab; 16]);
    let search = Probe::<String>::Search { wait };
    assert_eq!(search.text(), "search abababababababababababababababab");
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
        waits: (0..waits).map(|_| wait(Some(named()), true)).collect(),
    };
    let long = "x".repeat(MOST_BYTES);
    let (huge, endless) = (hold(2, &long), hold(100, ""));
    let answer = Answer {
        pass: 17,
        holds: (0..62)
            .map(|_| hold(3, "host%207%20site"))
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
        assert_eq!(read(&text), Some(Probe::Answer(part.clone())));
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
