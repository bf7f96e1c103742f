//! Input that is not RESP3, or larger than any real reply.

use super::*;

#[test]
fn what_is_no_value_is_garbage_as_soon_as_it_shows() {
    let table: &[&[u8]] = &[
        b"H",
        b"\0",
        b"\r\n",
        b"*1\r\nx",
        b":1\n",
        b"$1\n",
        b":\r\n",
        b":1x\r\n",
        b":99999999999999999999\r\n",
        b"$-2\r\n",
        b"*-7\r\n",
        b"=-1\r\n",
        b"=3\r\ntxt\r\n",
        b"$1\r\nab\r\n",
        b"$x\r\n",
        b"$ 1\r\na\r\n",
        b"$99999999999\r\n",
        b"*99999999999\r\n",
        b"%9223372036854775807\r\n",
        b"|9223372036854775807\r\n",
        b"#x\r\n",
        b"_x\r\n",
        b"*1\r\n>1\r\n+message\r\n",
        b"$?\r\n",
    ];
    for bytes in table {
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(read(bytes), Err(Garbage), "{shown:?}");
    }
}

#[test]
fn depth_is_limited() {
    for depth in [15, 20, 100_000] {
        let nested = "*1\r\n".repeat(depth) + ":1\r\n";
        assert_eq!(read(nested.as_bytes()).is_ok(), depth == 15, "{depth}");
        let attributes = "|0\r\n".repeat(depth) + ":1\r\n";
        assert_eq!(read(attributes.as_bytes()).is_ok(), depth == 15, "{depth}");
    }
}

#[test]
fn what_is_announced_takes_no_room() {
    let mut inbox = Inbox::new();
    let small = inbox.buffer.len();
    for bytes in ["*2000000\r\n", "$60000000\r\n"] {
        inbox.feed(bytes.as_bytes());
        assert_eq!(inbox.next(), Ok(None));
        assert_eq!(inbox.buffer.len(), small);
    }
}

#[test]
fn size_is_limited() {
    let many = "*2000000\r\n".repeat(2);
    assert_eq!(read(many.as_bytes()), Err(Garbage));
    let mut inbox = Inbox::new();
    let line = [b'x'; 10_000];
    inbox.feed(b"+");
    for _ in 0..6 {
        inbox.feed(&line);
        assert_eq!(inbox.next(), Ok(None));
    }
    inbox.feed(&line);
    assert_eq!(inbox.next(), Err(Garbage));
    // No single string is too large, but together they are.
    let mut inbox = Inbox::new();
    inbox.feed(b"*100\r\n");
    let string = [
        b"$1000000\r\n".to_vec(),
        vec![b'x'; 1_000_000],
        b"\r\n".to_vec(),
    ]
    .concat();
    let most = (0..100).take_while(|_| {
        inbox.feed(&string);
        inbox.next() == Ok(None)
    });
    assert_eq!(most.count(), 67);
}

#[test]
fn noise_does_no_harm() {
    const LIKELY: &[u8] = b"+-:$*%~>|_#,(=!\r\n\r\n\r\n0123456789-1tfx ";
    let mut noise = Noise(0x5eed);
    let mut good = 0;
    for _ in 0..20_000 {
        let length = noise.next() % 40;
        let bytes: Vec<u8> = (0..length)
            .map(|_| LIKELY[noise.next() % LIKELY.len()])
            .collect();
        let whole = read(&bytes);
        good += usize::from(whole.as_ref().is_ok_and(|values| !values.is_empty()));
        // Bytes that arrive one at a time must give the same result.
        let mut inbox = Inbox::new();
        let mut pieces = Ok(Vec::new());
        for byte in bytes.chunks(1) {
            inbox.feed(byte);
            pieces = pieces.and_then(|found: Vec<_>| Ok([found, all(&mut inbox)?].concat()));
        }
        assert_eq!(pieces, whole, "{:?}", String::from_utf8_lossy(&bytes));
    }
    assert!(good > 0);
}

#[test]
fn a_flipped_byte_does_no_harm() {
    let sound: &[u8] =
        b"*3\r\n$6\r\nQUEUED\r\n:1\r\n%1\r\n+a\r\n$-1\r\n>2\r\n+message\r\n$3\r\nabc\r\n-ERR no\r\n";
    for at in 0..sound.len() {
        for byte in 0..=u8::MAX {
            let mut bytes = sound.to_vec();
            bytes[at] = byte;
            // The parser may return anything, but must not panic.
            let _ = read(&bytes);
        }
    }
}
