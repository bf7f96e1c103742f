//! Simulates a managed service or a proxy in front of a Redis server: it answers some commands itself, and a real
//! server behind it answers the rest.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::redis::Redis;

/// Maps the words of a command to a complete reply of the service. With `None`, the server behind it answers. An empty
/// reply closes the connection.
type Answer = dyn Fn(&[String]) -> Option<String> + Send + Sync;

/// A service in front of a server. Once dropped, it accepts no more connections.
pub struct Managed {
    port: u16,
    ended: Arc<AtomicBool>,
}

impl Managed {
    /// Starts a service in front of `redis`. `answer` gets the words of each command, the first word in capitals.
    pub fn start(
        redis: &Redis,
        answer: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let ended = Arc::new(AtomicBool::new(false));
        let (behind, answer, stop) = (redis.port(), Arc::new(answer), ended.clone());
        thread::spawn(move || {
            for client in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(client), answer) = (client, answer.clone()) else {
                    continue;
                };
                // `serve` ends when the client or the server ends its connection. Then both connections are closed.
                thread::spawn(move || serve(&client, behind, &*answer));
            }
        });
        Self { port, ended }
    }

    /// Like [`start`](Self::start), but answers some commands with an error. Each pair in `refused` is the first word
    /// or words of a command (`CONFIG GET`), and its error.
    pub fn refusing(redis: &Redis, refused: &'static [(&'static str, &'static str)]) -> Self {
        Self::start(redis, move |words| {
            let command = words.join(" ").to_uppercase();
            let (_, error) = refused.iter().find(|(name, _)| {
                let rest = command.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })?;
            Some(format!("-{error}\r\n"))
        })
    }

    /// The URL of the service.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(mut client: &TcpStream, behind: u16, answer: &Answer) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", behind))?;
    let mut commands = BufReader::new(client.try_clone()?);
    let mut replies = BufReader::new(server.try_clone()?);
    loop {
        let mut bytes = Vec::new();
        let mut words = command(&mut commands, &mut bytes)?;
        if let Some(first) = words.first_mut() {
            first.make_ascii_uppercase();
        }
        if let Some(own) = answer(&words) {
            if own.is_empty() {
                return client.shutdown(Shutdown::Both);
            }
            client.write_all(own.as_bytes())?;
            continue;
        }
        server.write_all(&bytes)?;
        let expects_push = words
            .first()
            .is_some_and(|word| word.ends_with("SUBSCRIBE"));
        loop {
            let mut reply = Vec::new();
            let kind = copy(&mut replies, &mut reply)?;
            client.write_all(&reply)?;
            // Messages of channels may come before the reply.
            if kind != b'>' || expects_push {
                break;
            }
        }
    }
}

/// Reads a command, and appends its bytes to `bytes`.
fn command(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Vec<String>> {
    let count = number(line(from, bytes)?)?;
    (0..count)
        .map(|_| {
            let length = number(line(from, bytes)?)?;
            let word = block(from, bytes, length)?;
            Ok(String::from_utf8_lossy(&word).into_owned())
        })
        .collect()
}

/// Reads one reply of any kind, and appends its bytes to `bytes`. Returns its first byte.
fn copy(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<u8> {
    let line = line(from, bytes)?;
    let kind = line[0];
    match kind {
        // A length of -1 is RESP2's null.
        b'$' | b'=' | b'*' | b'>' | b'~' | b'%' if line.starts_with(&[kind, b'-']) => {}
        b'$' | b'=' => drop(block(from, bytes, number(line)?)?),
        b'*' | b'>' | b'~' | b'%' => {
            let each = if kind == b'%' { 2 } else { 1 };
            for _ in 0..number(line)? * each {
                copy(from, bytes)?;
            }
        }
        _ => {}
    }
    Ok(kind)
}

fn line(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if !line.ends_with(b"\r\n") {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    bytes.extend_from_slice(&line);
    Ok(line)
}

fn block(from: &mut impl BufRead, bytes: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    let mut block = vec![0; length + 2];
    from.read_exact(&mut block)?;
    bytes.extend_from_slice(&block);
    block.truncate(length);
    Ok(block)
}

/// The number after the first byte of a line.
fn number(line: Vec<u8>) -> io::Result<usize> {
    let text = String::from_utf8_lossy(&line[1..]).trim().to_owned();
    text.parse().map_err(io::Error::other)
}
