//! The Redis server of a scenario: pinned to a processor, with a separate connection for its statistics.

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
    /// Starts redis-server on the server's processor.
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

    /// Deletes all data; connections and scripts stay.
    pub(crate) fn clear(&mut self) {
        self.connection.call(&["FLUSHALL"]);
    }

    /// Returns the statistics of the commands so far.
    pub(crate) fn stats(&mut self) -> Stats {
        let text = self.connection.call(&["INFO", "commandstats"]);
        Stats::parse(text.text())
    }

    /// Returns the number of connections besides the one for statistics.
    pub(crate) fn connections(&mut self) -> usize {
        let list = self.connection.call(&["CLIENT", "LIST"]);
        list.text().lines().count().saturating_sub(1)
    }

    /// Returns the version that the server reports.
    pub(crate) fn version(&mut self) -> String {
        let text = self.connection.call(&["INFO", "server"]);
        let version = text
            .text()
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"));
        version.unwrap_or("unknown").trim().to_owned()
    }
}
