//! The server of a scenario: pinned to a processor, with a separate connection for its statistics.

#[cfg(feature = "peers")]
pub(crate) mod postgres;
mod stats;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::resp::Connection;

pub(crate) use stats::Stats;

use crate::Failure;
use crate::measure::cpu;
use crate::peer::Contender;
use crate::run::pin;

pub(crate) enum Server {
    Redis(Box<RedisServer>),
    #[cfg(feature = "peers")]
    Postgres(Box<postgres::Postgres>),
}

pub(crate) struct RedisServer {
    redis: Redis,
    connection: Connection,
    /// The bytes of the statistics so far: requests and replies.
    own_bytes: u64,
}

impl Server {
    /// Starts redis-server on the server's processor.
    pub(crate) fn start() -> Result<Self, Failure> {
        let redis = Redis::start();
        pin::server(redis.pid())?;
        Ok(Self::Redis(Box::new(RedisServer {
            connection: redis.connect(),
            redis,
            own_bytes: 0,
        })))
    }

    /// Starts the server that `contender` uses.
    pub(crate) fn of(contender: Contender) -> Result<Self, Failure> {
        #[cfg(feature = "peers")]
        if contender.needs_postgres() {
            let server = postgres::Postgres::start()?;
            return Ok(Self::Postgres(Box::new(server)));
        }
        let _ = contender;
        Self::start()
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Redis(server) => server.redis.url(),
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.url(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        match self {
            Self::Redis(server) => server.redis.pid(),
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.pid(),
        }
    }

    /// Returns the processor seconds of the server, with all of its processes.
    pub(crate) fn cpu(&self) -> f64 {
        cpu::of_tree(self.pid())
    }

    /// Deletes all data; connections and scripts stay. Advisory locks of PostgreSQL end with their connections.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Redis(server) => drop(server.call(&["FLUSHALL"])),
            #[cfg(feature = "peers")]
            Self::Postgres(_) => {}
        }
    }

    /// Returns the statistics so far.
    pub(crate) fn stats(&mut self) -> Stats {
        match self {
            Self::Redis(server) => server.stats(),
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.stats(),
        }
    }

    /// Returns the number of connections besides the one for statistics.
    pub(crate) fn connections(&mut self) -> usize {
        match self {
            Self::Redis(server) => {
                let list = server.call(&["CLIENT", "LIST"]);
                list.lines().count().saturating_sub(1)
            }
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.connections(),
        }
    }

    /// Returns the bytes that the server uses: of Redis `used_memory`, of PostgreSQL the memory of all of its
    /// processes, where memory that they share counts once.
    pub(crate) fn memory(&mut self) -> f64 {
        match self {
            Self::Redis(server) => {
                let info = server.call(&["INFO", "memory"]);
                field(&info, "used_memory").parse().unwrap_or(0.0)
            }
            #[cfg(feature = "peers")]
            Self::Postgres(server) => cpu::memory_of_tree(server.pid()),
        }
    }

    /// From now on, the server keeps the time of its longest call.
    pub(crate) fn watch_longest(&mut self) -> Result<(), Failure> {
        match self {
            Self::Redis(server) => {
                for setting in [
                    ["slowlog-log-slower-than", SLOW],
                    ["slowlog-max-len", "100000"],
                ] {
                    server.call(&[&["CONFIG", "SET"], &setting[..]].concat());
                }
                server.call(&["SLOWLOG", "RESET"]);
                Ok(())
            }
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.watch_longest(),
        }
    }

    /// Returns the time of the longest call of a script or function since [`watch_longest`](Self::watch_longest), in
    /// milliseconds.
    pub(crate) fn longest(&mut self) -> f64 {
        match self {
            Self::Redis(server) => server.longest(),
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.longest(),
        }
    }

    /// Waits until the server has noticed that its clients have gone.
    pub(crate) fn until_alone(&mut self) {
        let ends = Instant::now() + Duration::from_secs(10);
        while self.connections() > 0 && Instant::now() < ends {
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// On PostgreSQL, opens a transaction with a snapshot, which stays open.
    pub(crate) fn hold_snapshot(&mut self) -> Result<(), Failure> {
        match self {
            Self::Redis(_) => Err("a snapshot needs PostgreSQL".into()),
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.hold_snapshot(),
        }
    }

    /// On PostgreSQL, returns where the greatest size of the tables of locks is kept from now on, in bytes.
    pub(crate) fn watch_tables(&self) -> Result<Arc<AtomicU64>, Failure> {
        match self {
            Self::Redis(_) => Err("tables need PostgreSQL".into()),
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.watch_tables(),
        }
    }

    /// Returns the version that the server reports.
    pub(crate) fn version(&mut self) -> String {
        match self {
            Self::Redis(server) => {
                field(&server.call(&["INFO", "server"]), "redis_version").to_owned()
            }
            #[cfg(feature = "peers")]
            Self::Postgres(server) => server.version(),
        }
    }
}

/// Redis keeps calls that take at least this number of microseconds.
const SLOW: &str = "100";

impl RedisServer {
    /// If no script was slow, returns the least time that counts as slow.
    fn longest(&mut self) -> f64 {
        let reply = self.connection.call(&["SLOWLOG", "GET", "-1"]);
        let scripts = reply.list().iter().filter_map(|entry| {
            let [_, _, time, command, ..] = entry.list() else {
                return None;
            };
            let name = command.list().first()?.text();
            let is_script = ["EVALSHA", "EVAL", "FCALL"]
                .iter()
                .any(|script| name.eq_ignore_ascii_case(script));
            is_script.then(|| time.int())
        });
        let slow = SLOW.parse().unwrap_or(0);
        scripts.fold(slow, i64::max) as f64 / 1000.0
    }

    fn call(&mut self, command: &[&str]) -> String {
        let reply = self.connection.call(command);
        let text = reply.text().to_owned();
        let sent: usize = command.iter().map(|word| word.len() + 6).sum();
        self.own_bytes += (sent + text.len() + 12) as u64;
        text
    }

    fn stats(&mut self) -> Stats {
        let commands = self.call(&["INFO", "commandstats"]);
        let own = self.own_bytes;
        let traffic = self.call(&["INFO", "stats"]);
        let bytes = ["total_net_input_bytes", "total_net_output_bytes"]
            .map(|name| field(&traffic, name).parse::<u64>().unwrap_or(0));
        Stats::parse(&commands, Some((bytes[0] + bytes[1]).saturating_sub(own)))
    }
}

/// Returns a field of a reply to `INFO`.
fn field<'a>(info: &'a str, name: &str) -> &'a str {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(':');
    info.lines().find_map(value).unwrap_or("unknown").trim()
}
