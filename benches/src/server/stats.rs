//! The commands that the server has executed, and the bytes that it has received and sent.

use std::collections::BTreeMap;

use crate::peer::Contender;

/// Commands that count as requests for every library: scripts and connection commands. Commands in scripts do not
/// count.
const REQUESTS: [&str; 14] = [
    "evalsha",
    "evalsha_ro",
    "eval",
    "fcall",
    "script|exists",
    "script|load",
    "ping",
    "hello",
    "auth",
    "select",
    "client|setname",
    "client|setinfo",
    "subscribe",
    STATEMENT,
];

/// PostgreSQL's statements, as a command.
pub(super) const STATEMENT: &str = "statement";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    /// The number of calls of each command since the server was started.
    calls: BTreeMap<String, u64>,
    /// The bytes in both directions, without those of the statistics; `None` if they cannot be counted.
    bytes: Option<u64>,
}

impl Stats {
    /// The statistics of a PostgreSQL server.
    #[cfg(feature = "peers")]
    pub(super) fn of_statements(statements: u64, bytes: Option<u64>) -> Self {
        Self {
            calls: [(STATEMENT.to_owned(), statements)].into(),
            bytes,
        }
    }

    /// Parses the section `commandstats` of `INFO`.
    pub(super) fn parse(text: &str, bytes: Option<u64>) -> Self {
        let line = |line: &str| {
            let (name, fields) = line.trim().strip_prefix("cmdstat_")?.split_once(':')?;
            let calls = fields
                .split(',')
                .find_map(|field| field.strip_prefix("calls="))?;
            Some((name.to_owned(), calls.parse().ok()?))
        };
        Self {
            calls: text.lines().filter_map(line).collect(),
            bytes,
        }
    }

    fn calls(&self, command: &str) -> u64 {
        self.calls.get(command).copied().unwrap_or(0)
    }

    /// Returns the bytes in both directions since `before`.
    pub(crate) fn bytes_since(&self, before: &Self) -> Option<u64> {
        Some(self.bytes?.saturating_sub(before.bytes?))
    }

    /// Returns whether scripts were called since `before`: an idle connection sends other requests, such as `PING`.
    pub(crate) fn has_run_since(&self, before: &Self) -> bool {
        self.calls("evalsha") > before.calls("evalsha")
    }

    /// Returns the number of requests that `contender` has sent since `before`.
    pub(crate) fn requests_since(&self, before: &Self, contender: Contender) -> u64 {
        let commands = REQUESTS.iter().chain(contender.plain_commands());
        commands
            .map(|command| self.calls(command).saturating_sub(before.calls(command)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_client_sends_is_a_request() {
        let before = Stats::parse(
            "# Commandstats\r\ncmdstat_evalsha:calls=2,usec=9\r\n",
            Some(100),
        );
        let after = Stats::parse(
            "cmdstat_evalsha:calls=12,usec=9,rejected_calls=0\r\n\
             cmdstat_set:calls=30,usec=1\r\ncmdstat_script|load:calls=1,usec=3\r\n",
            Some(150),
        );
        assert_eq!(after.requests_since(&before, Contender::AutoMutex), 11);
        assert_eq!(after.requests_since(&before, Contender::Rslock), 41);
        assert_eq!(after.bytes_since(&before), Some(50));
    }
}
