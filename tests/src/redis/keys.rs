//! Reads the library's keys, holders, waiters and tickets in the store.

use std::collections::{BTreeMap, BTreeSet};

use auto_mutex::{Client, Config, LockInfo};

use super::Redis;
use crate::events::LONG;

/// Returns all keys of a pattern with their TTLs in milliseconds (-1: none), atomically.
const LOOK: &str = "local found = {} \
                    for _, key in ipairs(redis.call('KEYS', ARGV[1])) do \
                        found[#found + 1] = redis.call('PTTL', key) .. ' ' .. key \
                    end \
                    return found";

/// A key of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key's name.
    pub name: String,
    /// The key's TTL in milliseconds; -1 if it has none.
    pub ttl: i64,
}

impl Key {
    /// Whether this is the first key of a name, which keeps the fencing token.
    pub fn is_token(&self) -> bool {
        self.name.ends_with('}')
    }

    /// Whether this is a set of tombstones, which is kept for half a minute.
    pub fn is_gone_set(&self) -> bool {
        self.name.ends_with("}:gone")
    }
}

impl Redis {
    /// The keys of all names, at one instant.
    #[track_caller]
    pub fn keys(&self) -> Vec<Key> {
        self.keys_like("auto_mutex:{*")
    }

    #[track_caller]
    fn keys_like(&self, pattern: &str) -> Vec<Key> {
        self.connect()
            .call(&["EVAL", LOOK, "0", pattern])
            .texts()
            .iter()
            .map(|line| {
                let (ttl, name) = line.split_once(' ').expect("a TTL and a name");
                Key {
                    name: name.to_owned(),
                    ttl: ttl.parse().expect("a TTL"),
                }
            })
            .collect()
    }

    /// Keys of the library without a TTL, which would never go away.
    #[track_caller]
    pub fn keys_without_ttl(&self) -> Vec<Key> {
        let all = self.keys_like("auto_mutex:*").into_iter();
        all.filter(|key| key.ttl < 0).collect()
    }

    /// The number of holders of all names.
    #[track_caller]
    pub fn held(&self) -> usize {
        self.inspect().iter().map(|info| info.holders.len()).sum()
    }

    /// The number of waiters of all names.
    #[track_caller]
    pub fn waiting(&self) -> usize {
        self.inspect().iter().map(|info| info.waiters.len()).sum()
    }

    /// Asks for the state of every name: see [`inspect`].
    #[track_caller]
    fn inspect(&self) -> Vec<LockInfo> {
        let keys = self.keys();
        let names = keys
            .iter()
            .filter_map(|key| key.name.strip_prefix("auto_mutex:{")?.strip_suffix('}'));
        inspect(&self.url(), names)
    }

    /// The number of members that listen on their channels.
    #[track_caller]
    pub fn members(&self) -> usize {
        let channels = self.command(&["PUBSUB", "CHANNELS", "auto_mutex:member:*"]);
        channels.list().len()
    }

    /// The tickets that hold or wait for `name` (with its namespace): in its keys, what comes before a member's id.
    #[track_caller]
    pub fn tickets(&self, name: &str) -> Vec<String> {
        const DUMP: &str = "local all = {} \
                            for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do \
                                local kind = redis.call('TYPE', key).ok \
                                local found = kind == 'string' and redis.call('GET', key) \
                                    or kind == 'hash' and redis.call('HGETALL', key) \
                                    or redis.call('ZRANGE', key, 0, -1) \
                                all[#all + 1] = type(found) == 'table' and table.concat(found, ' ') or found \
                            end \
                            return (string.gsub(table.concat(all, ' '), '.', function(c) return string.format('%02x', string.byte(c)) end))";
        let members = self
            .command(&["PUBSUB", "CHANNELS", "auto_mutex:member:*"])
            .texts();
        let dump = self.command(&["EVAL", DUMP, "0", &format!("auto_mutex:{{{name}}}")]);
        let dump = dump.text();
        let ids = members
            .iter()
            .filter_map(|channel| channel.rsplit(':').next());
        let tickets: BTreeSet<String> = ids
            .flat_map(|id| dump.match_indices(id))
            .filter_map(|(at, _)| dump.get(at.checked_sub(32)?..at))
            .filter(|found| is_uuid(found.as_bytes()))
            .map(str::to_owned)
            .collect();
        tickets.into_iter().collect()
    }
}

/// Asks a store for the state of names, with a new client per namespace. Skips names of condition variables and of
/// watchers of leaders, for whose state a client cannot ask.
#[track_caller]
pub(crate) fn inspect<'a>(url: &str, names: impl Iterator<Item = &'a str>) -> Vec<LockInfo> {
    let names = names.filter(|name| !name.contains(":%"));
    let mut clients = BTreeMap::new();
    let infos = names
        .map(|name| {
            // A name without a colon comes from a client without a namespace.
            let (namespace, name) = match name.split_once(':') {
                Some((namespace, name)) => (Some(namespace), name),
                None => (None, name),
            };
            let client = clients.entry(namespace).or_insert_with(|| {
                let config = Config::new(url).expect("a good URL").lease(LONG);
                let mut config = config.connect_timeout("60s");
                if let Some(namespace) = namespace {
                    config = config.namespace(unescape(namespace));
                }
                Client::connect(config).expect("an observer")
            });
            client
                .mutex(unescape(name))
                .blocking_info()
                .expect("an answer")
        })
        .collect();
    clients
        .into_values()
        .for_each(|client| client.blocking_shutdown());
    infos
}

/// Whether `text` is a random UUID without hyphens.
fn is_uuid(text: &[u8]) -> bool {
    let hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.iter().all(hex) && text[12] == b'4' && matches!(text[16], b'8' | b'9' | b'a' | b'b')
}

/// Reverses the escaping of a name in a key.
fn unescape(name: &str) -> String {
    let mut parts = name.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).expect("an escape"));
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).expect("an escaped text")
}
