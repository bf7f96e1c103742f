//! Encodes commands as arrays of strings.

use std::fmt::Display;
use std::io::Write as _;

/// Appends a command to `out`; `write` writes its words.
pub(in super::super) fn command(out: &mut Vec<u8>, write: impl FnOnce(&mut Words<'_>)) {
    let count = reserve(out, b'*');
    let mut words = Words { out, count: 0 };
    write(&mut words);
    let total = words.count;
    settle(out, count, total);
}

/// A command under construction.
pub(in super::super) struct Words<'a> {
    out: &'a mut Vec<u8>,
    count: usize,
}

impl Words<'_> {
    pub(in super::super) fn text(&mut self, text: &str) {
        self.joined(&[text]);
    }

    pub(in super::super) fn texts(&mut self, texts: &[&str]) {
        for text in texts {
            self.text(text);
        }
    }

    /// Appends one word that consists of several parts.
    pub(in super::super) fn joined(&mut self, parts: &[&str]) {
        self.count += 1;
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.out.push(b'$');
        digits(self.out, length as u64);
        self.out.extend_from_slice(b"\r\n");
        for part in parts {
            self.out.extend_from_slice(part.as_bytes());
        }
        self.out.extend_from_slice(b"\r\n");
    }

    pub(in super::super) fn word(&mut self, word: impl Display) {
        // Writing to a Vec cannot fail.
        self.built(|out| drop(write!(out, "{word}")));
    }

    /// Appends one word; `write` produces it.
    pub(in super::super) fn built(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.count += 1;
        let length = reserve(self.out, b'$');
        let start = self.out.len();
        write(self.out);
        let written = self.out.len() - start;
        self.out.extend_from_slice(b"\r\n");
        settle(self.out, length, written);
    }

    pub(in super::super) fn number(&mut self, number: u64) {
        self.count += 1;
        let width = number.checked_ilog10().unwrap_or(0) + 1;
        self.out.push(b'$');
        digits(self.out, width.into());
        self.out.extend_from_slice(b"\r\n");
        digits(self.out, number);
        self.out.extend_from_slice(b"\r\n");
    }
}

/// Reserves room for two digits, which mostly suffice. Returns its position.
fn reserve(out: &mut Vec<u8>, kind: u8) -> usize {
    out.extend_from_slice(&[kind, b'0', b'0', b'\r', b'\n']);
    out.len() - 4
}

/// Writes the number into the reserved room. The server accepts no leading zeros.
fn settle(out: &mut Vec<u8>, at: usize, number: usize) {
    let mut text = [0; 20];
    let digits = decimal(&mut text, number as u64);
    let (room, end) = (at + 2, out.len());
    if digits.len() < 2 {
        out.copy_within(room.., at + digits.len());
        out.truncate(end - 1);
    } else {
        let more = digits.len() - 2;
        out.resize(end + more, 0);
        out.copy_within(room..end, room + more);
    }
    out[at..at + digits.len()].copy_from_slice(digits);
}

fn digits(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(decimal(&mut [0; 20], number));
}

fn decimal(text: &mut [u8; 20], mut number: u64) -> &[u8] {
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &text[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_what_another_encoder_makes_of_them() {
        let long = "x".repeat(1000);
        for count in [0, 1, 5, 98, 99, 100, 1000] {
            let mut expected = redis::cmd("EVALSHA");
            let mut found = b"before".to_vec();
            command(&mut found, |words| {
                words.text("EVALSHA");
                for number in 0..count {
                    let number = u64::MAX >> (number % 64);
                    words.number(number);
                    expected.arg(number);
                }
                for text in ["", "9 bytes..", "10 bytes..", "é\r\n", &long] {
                    words.text(text);
                    words.word(text);
                    words.joined(&[text, ":", text]);
                    expected.arg(text).arg(text).arg(format!("{text}:{text}"));
                }
            });
            let expected = expected.get_packed_command();
            assert_eq!(found.strip_prefix(b"before"), Some(&*expected), "{count}");
        }
    }
}
