//! The Redis of a scenario: pinned, and asked for its statistics over one connection of our own.

mod stats;

use auto_mutex_tests::redis::Redis;
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
