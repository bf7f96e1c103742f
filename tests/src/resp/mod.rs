//! A minimal, blocking RESP2 connection to Redis, which shares no code with the library under test.

mod value;

use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

pub use value::Value;

use crate::events::PATIENCE;

/// A blocking connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to this machine over TCP.
    pub fn tcp(port: u16) -> io::Result<Self> {
        Self::brief(port, PATIENCE)
    }

    /// As [`tcp`](Self::tcp), with `patience` as the timeout for each reply.
    pub fn brief(port: u16, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends a command and returns the reply; an error of the server is `Err` with its text.
    pub fn try_call<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Result<Value, String> {
        self.send(command).map_err(|error| error.to_string())?;
        match Value::read(&mut self.stream) {
            Ok(Value::Error(text)) => Err(text),
            Ok(value) => Ok(value),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends a command and returns the reply; panics on an error.
    #[track_caller]
    pub fn call<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Value {
        match self.try_call(command) {
            Ok(value) => value,
            Err(error) => {
                let name = command
                    .first()
                    .map(|word| String::from_utf8_lossy(word.as_ref()));
                panic!("redis: {}: {error}", name.unwrap_or_default())
            }
        }
    }

    /// Sends a command without waiting for the reply.
    pub fn send<A: AsRef<[u8]>>(&mut self, command: &[A]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
        for word in command {
            let word = word.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)
    }

    /// The reply to an earlier [`send`](Self::send), or the next message of a channel.
    pub fn receive(&mut self) -> io::Result<Value> {
        Value::read(&mut self.stream)
    }
}
