//! The Redis of a scenario: pinned, and asked for its statistics over one connection of our own.

mod stats;

use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::resp::Connection;

pub(crate) use stats::Stats;

use crate::Failure;
use crate::run::pin;

pub(crate) struct Server {
    redis: Redis,
    connection: Connection,
}

impl Server {
    /// Starts redis-server on the processor that is its.
    pub(crate) fn start() -> Result<Self, Failure> {
        let redis = Redis::start();
        pin::server(redis.pid())?;
        Ok(Self {
            connection: redis.connect(),
            redis,
        })
    }

    /// The same, with its data on a disk.
    pub(crate) fn persistent() -> Result<Self, Failure> {
        let redis = Redis::with(Options::default().persistent());
        pin::server(redis.pid())?;
        Ok(Self {
            connection: redis.connect(),
            redis,
        })
    }

    /// Kills it and starts it again. All counts begin anew.
    pub(crate) fn restart(&mut self) -> Result<(), Failure> {
        self.redis.restart();
        pin::server(self.redis.pid())?;
        self.connection = self.redis.connect();
        Ok(())
    }

    /// A number that INFO tells; 0 if it does not.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        self.redis.info(name).parse().unwrap_or(0)
    }

    pub(crate) fn url(&self) -> String {
        self.redis.url()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.redis.pid()
    }

    /// As if it had just been started; connections and scripts stay.
    pub(crate) fn clear(&mut self) {
        self.connection.call(&["FLUSHALL"]);
    }

    /// What it has done so far.
    pub(crate) fn stats(&mut self) -> Stats {
        let text = self.connection.call(&["INFO", "commandstats"]);
        Stats::parse(text.text())
    }

    /// How many connections there are besides ours.
    pub(crate) fn connections(&mut self) -> usize {
        let list = self.connection.call(&["CLIENT", "LIST"]);
        list.text().lines().count().saturating_sub(1)
    }

    /// Its version, as it says.
    pub(crate) fn version(&mut self) -> String {
        let text = self.connection.call(&["INFO", "server"]);
        let version = text
            .text()
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"));
        version.unwrap_or("unknown").trim().to_owned()
    }
}
