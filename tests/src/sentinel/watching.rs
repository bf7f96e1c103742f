//! Failovers of a service: finds the current primary, starts failovers, and cuts servers off.

use std::collections::HashMap;
use std::time::Duration;

use super::{NAME, PLACID, SENTINELS, SERVERS, Service, VIGILANT};
use crate::events::{PATIENCE, eventually_within};
use crate::redis::Redis;
use crate::resp::Value;

/// The time limit for a failover, which takes some seconds. If the first attempt fails, the next follows after twice
/// the failover timeout.
const FAILOVER: Duration = Duration::from_secs(60);

/// A sentinel's view of the service: fields and their values.
type Fields = HashMap<String, String>;

impl Service {
    /// The number of the server that most sentinels consider the primary. `None` if most do not agree on one, or if the
    /// role of that server is not primary.
    pub fn primary(&self) -> Option<usize> {
        let mut votes = [0; SERVERS];
        for sentinel in &self.sentinels {
            let named = self.seen_by(sentinel).and_then(|seen| self.index_of(&seen));
            if let Some(index) = named {
                votes[index] += 1;
            }
        }
        let named = votes.iter().position(|votes| *votes > SENTINELS / 2)?;
        self.servers[named].is_primary().then_some(named)
    }

    /// Waits until most sentinels agree on a primary, and returns its number.
    #[track_caller]
    pub fn wait_for_primary(&self) -> usize {
        self.wait_for("there is a primary", Some)
    }

    /// Waits until another server than `former` is the primary, and returns its number.
    #[track_caller]
    pub fn wait_until_replaced(&self, former: usize) -> usize {
        self.wait_for("another server is the primary", |index| {
            (index != former).then_some(index)
        })
    }

    #[track_caller]
    fn wait_for(&self, what: &str, wanted: impl Fn(usize) -> Option<usize>) -> usize {
        let mut found = None;
        eventually_within(FAILOVER, what, || {
            found = self.primary().and_then(&wanted);
            found.is_some()
        });
        found.expect("just found")
    }

    /// From now on, the sentinels replace a primary that is silent for a second. Otherwise, and after
    /// [`leave_alone`](Self::leave_alone), they do so only by command.
    #[track_caller]
    pub fn watch_closely(&self) {
        self.down_after(VIGILANT);
    }

    /// Ends the effect of [`watch_closely`](Self::watch_closely).
    #[track_caller]
    pub fn leave_alone(&self) {
        self.down_after(PLACID);
    }

    #[track_caller]
    fn down_after(&self, milliseconds: u32) {
        let milliseconds = milliseconds.to_string();
        for sentinel in &self.sentinels {
            sentinel.command(&[
                "SENTINEL",
                "SET",
                NAME,
                "down-after-milliseconds",
                &milliseconds,
            ]);
        }
    }

    /// Makes the sentinels start a failover to another server, and does not wait for its end.
    #[track_caller]
    pub fn begin_failover(&self) {
        let mut index = 0;
        // A sentinel refuses while another failover is running, or while it knows no good replica.
        eventually_within(FAILOVER, "the sentinels fail over", || {
            index += 1;
            let sentinel = &self.sentinels[index % SENTINELS];
            sentinel
                .try_command(&["SENTINEL", "FAILOVER", NAME])
                .is_ok()
        });
    }

    /// As [`begin_failover`](Self::begin_failover), by one sentinel; the other sentinels may be suspended.
    #[track_caller]
    pub fn begin_failover_by(&self, sentinel: usize) {
        eventually_within(FAILOVER, "the sentinel fails over", || {
            let sentinel = &self.sentinels[sentinel];
            sentinel
                .try_command(&["SENTINEL", "FAILOVER", NAME])
                .is_ok()
        });
    }

    /// As [`begin_failover`](Self::begin_failover), but waits for the new primary and returns its number.
    #[track_caller]
    pub fn fail_over(&self) -> usize {
        let former = self.wait_for_primary();
        self.begin_failover();
        self.wait_until_replaced(former)
    }

    /// Waits until all servers and sentinels are up, the replicas follow the primary, and all processes know each
    /// other.
    #[track_caller]
    pub fn wait_until_whole(&self) {
        eventually_within(FAILOVER.max(PATIENCE), "the service is whole", || {
            let Some(primary) = self.primary() else {
                return false;
            };
            let port = self.port(primary).to_string();
            let follows = |redis: &Redis| {
                redis.try_info("master_link_status").as_deref() == Some("up")
                    && redis.try_info("master_port").as_deref() == Some(&*port)
            };
            let mut replicas = self.servers.iter().enumerate();
            replicas.all(|(index, redis)| index == primary || follows(redis))
                && self.sentinels.iter().all(|sentinel| {
                    self.seen_by(sentinel).is_some_and(|seen| {
                        knows_all(&seen) && self.index_of(&seen) == Some(primary)
                    })
                })
        });
    }

    /// Cuts a server off from its replicas and the sentinels, but not from its connected clients, so that neither it
    /// nor they notice that another server takes over. Needs
    /// [`ServiceOptions::proxied`](super::ServiceOptions::proxied).
    pub fn isolate(&self, index: usize) {
        self.proxies[index].refuse();
        let mut admin = self.servers[index].connect();
        let list = admin.call(&["CLIENT", "LIST"]);
        let field = |line: &str, name: &str| {
            let mut words = line.split(' ');
            words.find_map(|word| word.strip_prefix(name).map(str::to_owned))
        };
        for line in list.text().lines() {
            let name = field(line, "name=").unwrap_or_default();
            let theirs = name.starts_with("sentinel-")
                || field(line, "flags=").is_some_and(|flags| flags.contains('S'));
            if theirs && let Some(id) = field(line, "id=") {
                let _ = admin.try_call(&["CLIENT", "KILL", "ID", &id]);
            }
        }
    }

    /// As [`isolate`](Self::isolate), but cuts the clients off, too.
    pub fn cut_off(&self, index: usize) {
        self.proxies[index].refuse();
        self.proxies[index].cut();
    }

    /// Ends [`isolate`](Self::isolate) and [`cut_off`](Self::cut_off).
    pub fn reconnect(&self, index: usize) {
        self.proxies[index].heal();
    }

    fn seen_by(&self, sentinel: &Redis) -> Option<Fields> {
        let seen = sentinel.try_command(&["SENTINEL", "MASTER", NAME]).ok()?;
        let words: Vec<_> = seen.list().iter().map(Value::text).collect();
        let pairs = words.chunks_exact(2);
        Some(
            pairs
                .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
                .collect(),
        )
    }

    fn index_of(&self, seen: &Fields) -> Option<usize> {
        let port = seen.get("port")?;
        (0..SERVERS).find(|index| self.port(*index).to_string() == *port)
    }
}

fn knows_all(seen: &Fields) -> bool {
    let number = |name: &str| seen.get(name).and_then(|text| text.parse().ok());
    number("num-slaves") == Some(SERVERS - 1)
        && number("num-other-sentinels") == Some(SENTINELS - 1)
        && seen.get("flags").is_some_and(|flags| flags == "master")
}
