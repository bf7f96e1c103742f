//! Input that is RESP3.

use super::super::fuzzing::second_reader::compare;
use super::super::value::{ErrorReply, parse};
use super::*;

fn error<'a>(code: &'a str, details: &'a str) -> Value<'a> {
    Value::Error(ErrorReply {
        code: code.into(),
        details: details.into(),
    })
}

fn samples() -> Vec<(&'static str, Value<'static>)> {
    vec![
        ("+OK\r\n", text("OK")),
        ("+\r\n", text("")),
        (":-17\r\n", Value::Integer(-17)),
        ("$-1\r\n", Value::Nil),
        ("*-1\r\n", Value::Nil),
        ("_\r\n", Value::Nil),
        ("$0\r\n\r\n", text("")),
        ("$12\r\nGRANTED\r\n17\n\r\n", text("GRANTED\r\n17\n")),
        ("=9\r\ntxt:a:b\r\n\r\n", text("a:b\r\n")),
        (",1.5\r\n", text("1.5")),
        ("(123456789012345678901\r\n", text("123456789012345678901")),
        ("#t\r\n", Value::Integer(1)),
        ("#f\r\n", Value::Integer(0)),
        ("-ERR two words\r\n", error("ERR", "two words")),
        ("-NOSCRIPT\r\n", error("NOSCRIPT", "")),
        ("!11\r\nBUSY\r\nlines\r\n", error("BUSY\r\nlines", "")),
        ("*0\r\n", Value::List(vec![])),
        (
            "*3\r\n$6\r\nQUEUED\r\n:1\r\n*1\r\n_\r\n",
            Value::List(vec![
                text("QUEUED"),
                Value::Integer(1),
                Value::List(vec![Value::Nil]),
            ]),
        ),
        ("~1\r\n:1\r\n", Value::List(vec![Value::Integer(1)])),
        (
            "%2\r\n+a\r\n*1\r\n:1\r\n+b\r\n%0\r\n",
            Value::List(vec![
                text("a"),
                Value::List(vec![Value::Integer(1)]),
                text("b"),
                Value::List(vec![]),
            ]),
        ),
        (
            ">3\r\n+message\r\n$1\r\nc\r\n$0\r\n\r\n",
            Value::Push(vec![text("message"), text("c"), text("")]),
        ),
        ("|1\r\n+ttl\r\n:9\r\n:1\r\n", Value::Integer(1)),
        (
            "*1\r\n|1\r\n+ttl\r\n:9\r\n:1\r\n",
            Value::List(vec![Value::Integer(1)]),
        ),
    ]
}

#[test]
fn every_kind_of_value_is_understood() {
    for (bytes, value) in samples() {
        assert_eq!(parse(bytes.as_bytes()), Ok(value.clone()), "{bytes:?}");
        assert_eq!(
            read(bytes.as_bytes()),
            Ok(vec![format!("{value:?}")]),
            "{bytes:?}"
        );
        compare(bytes.as_bytes());
    }
}

#[test]
fn pieces_of_any_size_make_no_difference() {
    let bytes: String = samples().into_iter().map(|(bytes, _)| bytes).collect();
    let bytes = bytes.as_bytes();
    let expected = read(bytes).unwrap();
    assert_eq!(expected.len(), samples().len());
    for size in 1..=bytes.len() {
        let mut inbox = Inbox::new();
        let mut found = Vec::new();
        for piece in bytes.chunks(size) {
            inbox.feed(piece);
            found.extend(all(&mut inbox).unwrap());
        }
        assert_eq!(found, expected, "{size}");
    }
    for split in 0..bytes.len() {
        let mut inbox = Inbox::new();
        inbox.feed(&bytes[..split]);
        let mut found = all(&mut inbox).unwrap();
        inbox.feed(&bytes[split..]);
        found.extend(all(&mut inbox).unwrap());
        assert_eq!(found, expected, "{split}");
    }
}

#[test]
fn a_large_value_is_read_whole_and_its_room_given_back() {
    let mut inbox = Inbox::new();
    let small = inbox.buffer.len();
    let large = "x".repeat(3 << 20);
    let bytes = format!("*2\r\n${}\r\n{large}\r\n:1\r\n:2\r\n", large.len());
    for piece in bytes.as_bytes().chunks(10_000) {
        inbox.feed(piece);
    }
    let expected = Value::List(vec![text(&large), Value::Integer(1)]);
    assert_eq!(inbox.next(), Ok(Some(expected)));
    assert_eq!(inbox.next(), Ok(Some(Value::Integer(2))));
    inbox.feed(b":3\r\n");
    assert_eq!(inbox.next(), Ok(Some(Value::Integer(3))));
    assert_eq!(inbox.buffer.len(), small);
}
