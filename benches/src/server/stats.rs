//! The commands that the server has executed.

use std::collections::BTreeMap;

use crate::peer::Contender;

/// Commands that count as requests for every library: scripts and connection commands. Commands in scripts do not count.
const REQUESTS: [&str; 13] = [
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
];

/// The number of calls of each command since the server was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats(BTreeMap<String, u64>);

impl Stats {
    /// Parses the section `commandstats` of `INFO`.
    pub(super) fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (name, fields) = line.trim().strip_prefix("cmdstat_")?.split_once(':')?;
            let calls = fields
                .split(',')
                .find_map(|field| field.strip_prefix("calls="))?;
            Some((name.to_owned(), calls.parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }

    fn calls(&self, command: &str) -> u64 {
        self.0.get(command).copied().unwrap_or(0)
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
        let before = Stats::parse("# Commandstats\r\ncmdstat_evalsha:calls=2,usec=9\r\n");
        let after = Stats::parse(
            "cmdstat_evalsha:calls=12,usec=9,rejected_calls=0\r\n\
             cmdstat_set:calls=30,usec=1\r\ncmdstat_script|load:calls=1,usec=3\r\n",
        );
        assert_eq!(after.requests_since(&before, Contender::AutoMutex), 11);
        assert_eq!(after.requests_since(&before, Contender::Rslock), 41);
    }
}
