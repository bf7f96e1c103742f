//! Random replies, valid and damaged: our parser must agree with that of the `redis` crate.

use super::super::fuzzing::second_reader::compare;
use super::*;

/// Appends a value as a server may write it.
fn reply(noise: &mut Noise, depth: usize, out: &mut Vec<u8>) {
    let kinds = if depth < 4 { 15 } else { 11 };
    let count = noise.next() % 4;
    let text = &b"GRANTED 17\r\n-\xc3\xa9"[noise.next() % 9..];
    let bulk = |out: &mut Vec<u8>, kind: u8, format: &[u8]| {
        out.push(kind);
        out.extend_from_slice((format.len() + text.len()).to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(format);
        out.extend_from_slice(text);
        out.extend_from_slice(b"\r\n");
    };
    match noise.next() % kinds {
        0 | 1 => bulk(out, b'$', b""),
        2 => bulk(out, b'!', b""),
        3 => bulk(out, b'=', b"txt:"),
        4 => out.extend_from_slice(format!(":{}\r\n", noise.next() as i64).as_bytes()),
        5 => out.extend_from_slice([&b"_\r\n"[..], b"$-1\r\n", b"*-1\r\n"][count % 3]),
        6 => out.extend_from_slice([b"#t\r\n", b"#f\r\n"][count % 2]),
        7 => out.extend_from_slice([&b"+OK\r\n"[..], b"+QUEUED\r\n", b"+\r\n"][count % 3]),
        8 => out
            .extend_from_slice([&b"-ERR no\r\n"[..], b"-BUSY\r\n", b"-FOREIGN a b\r\n"][count % 3]),
        9 => out.extend_from_slice([&b",1.5\r\n"[..], b",-inf\r\n", b",2e9\r\n"][count % 3]),
        10 => out.extend_from_slice(b"(123456789012345678901\r\n"),
        kind @ 11.. => {
            let (sign, count, values) = match kind {
                11 | 12 => ('*', count, count),
                13 => ('~', count, count),
                _ => ('%', count, 2 * count),
            };
            // An attribute comes before the value that it describes.
            if noise.next().is_multiple_of(8) {
                out.extend_from_slice(b"|1\r\n+ttl\r\n:9\r\n");
            }
            out.extend_from_slice(format!("{sign}{count}\r\n").as_bytes());
            for _ in 0..values {
                reply(noise, depth + 1, out);
            }
        }
    }
}

/// A reply, or a push whose last item is a reply.
fn value(noise: &mut Noise) -> Vec<u8> {
    let mut out = Vec::new();
    if noise.next().is_multiple_of(5) {
        out.extend_from_slice(b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n");
    }
    reply(noise, 0, &mut out);
    out
}

#[test]
fn what_servers_write_both_read_as_the_same() {
    let mut noise = Noise(0x0dd);
    for _ in 0..5_000 {
        let bytes = value(&mut noise);
        let shown = String::from_utf8_lossy(&bytes);
        let ours = read(&bytes);
        assert!(ours.as_ref().is_ok_and(|ours| ours.len() == 1), "{shown:?}");
        assert!(redis::parse_redis_value(&bytes).is_ok(), "{shown:?}");
        compare(&bytes);
    }
}

#[test]
fn what_is_damaged_both_refuse_or_read_as_the_same() {
    const LIKELY: &[u8] = b"+-:$*%~>|_#(=!\r\n0123456789t \xff";
    let mut noise = Noise(0xbad);
    for _ in 0..20_000 {
        let mut bytes = [value(&mut noise), value(&mut noise)].concat();
        for _ in 0..=noise.next() % 3 {
            let at = noise.next() % bytes.len();
            match noise.next() % 3 {
                0 => bytes[at] = LIKELY[noise.next() % LIKELY.len()],
                1 => bytes.insert(at, LIKELY[noise.next() % LIKELY.len()]),
                _ => bytes.truncate(at + 1),
            }
        }
        compare(&bytes);
    }
}
