//! The raw limit: a blocking socket that sends SET NX PX, then a script that deletes the key if it still has the same
//! value. With many keys, the commands for all keys are written at once.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use redis::Cmd;

use crate::Failure;
use crate::clock;
use crate::job::Turns;
use crate::measure::record::Record;
use crate::worker::talk::Span;

const RELEASE: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
const OWNER: &str = "0123456789abcdef0123";

pub(crate) struct Raw {
    stream: BufReader<TcpStream>,
    take: Vec<u8>,
    give: Vec<u8>,
    keys: usize,
}

impl Raw {
    pub(crate) fn connect(job: &Turns) -> Result<Self, Failure> {
        let address = job.url.strip_prefix("redis://").unwrap_or(&job.url);
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut raw = Self {
            stream: BufReader::new(stream),
            take: Vec::new(),
            give: Vec::new(),
            keys: job.tasks,
        };
        let mut load = Vec::new();
        command(&mut load, &["SCRIPT", "LOAD", RELEASE]);
        raw.stream.get_mut().write_all(&load)?;
        // The length of the digest, and the digest.
        let (_, digest) = (raw.line()?, raw.line()?);
        for key in 0..job.tasks {
            let key = format!("bench:{key}");
            command(&mut raw.take, &["SET", &key, OWNER, "NX", "PX", "10000"]);
            command(&mut raw.give, &["EVALSHA", &digest, "1", &key, OWNER]);
        }
        Ok(raw)
    }

    /// Acquires and releases all keys repeatedly until `span` ends.
    pub(crate) fn turns(&mut self, span: Span) -> Result<Vec<Vec<Record>>, Failure> {
        let mut tasks = vec![Vec::new(); self.keys];
        loop {
            let asked = clock::now();
            if asked >= span.until {
                return Ok(tasks);
            }
            self.round(true, "+OK")?;
            let entered = clock::now();
            self.round(false, ":1")?;
            let done = clock::now();
            for records in &mut tasks {
                records.push(Record {
                    asked,
                    entered,
                    left: entered,
                    done,
                    units: 1,
                });
            }
        }
    }

    fn round(&mut self, takes: bool, expected: &str) -> Result<(), Failure> {
        let bytes = if takes { &self.take } else { &self.give };
        self.stream.get_mut().write_all(bytes)?;
        for _ in 0..self.keys {
            let reply = self.line()?;
            if reply != expected {
                return Err(format!("redis answered {reply:?} instead of {expected:?}").into());
            }
        }
        Ok(())
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

fn command(buffer: &mut Vec<u8>, words: &[&str]) {
    buffer.extend(Cmd::new().arg(words).get_packed_command());
}
