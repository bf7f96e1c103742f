//! What the library under test has left in the store.

use super::Redis;

/// All keys of the library with their TTL in milliseconds (-1: none), in one atomic look.
const LOOK: &str = "local found = {} \
                    for _, key in ipairs(redis.call('KEYS', 'auto_mutex:*')) do \
                        found[#found + 1] = redis.call('PTTL', key) .. ' ' .. key \
                    end \
                    return found";

/// Counts the tickets whose time has not ended: of a name with one holder in its first key, of others in the sets.
const COUNT: &str = "local time = redis.call('TIME') \
                     local now = time[1] * 1000000 + time[2] \
                     local found = 0 \
                     for _, key in ipairs(redis.call('KEYS', 'auto_mutex:*}')) do \
                         local state = redis.call('GET', key) \
                         local heard, hold = string.match(state, '^1 s %d+ %d+ (%d+) %S+ (%d+) ') \
                         if heard and ARGV[1] == 'held' and heard + hold * 1000 > now then \
                             found = found + 1 \
                         elseif string.match(state, '^1 f ') then \
                             local set = key .. ':' .. ARGV[1] \
                             found = found + redis.call('ZCOUNT', set, string.format('(%.0f', now), '+inf') \
                         end \
                     end \
                     return found";

/// A key of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its TTL in milliseconds; -1 if it has none.
    pub ttl: i64,
}

impl Key {
    /// Whether it is the first key of a name, which keeps the fencing token.
    pub fn is_token(&self) -> bool {
        self.name.ends_with('}')
    }

    /// Whether it is a set of tombstones, which is kept for half a minute.
    pub fn is_gone_set(&self) -> bool {
        self.name.ends_with("}:gone")
    }
}

impl Redis {
    /// All keys of the library at one instant.
    #[track_caller]
    pub fn keys(&self) -> Vec<Key> {
        self.connect()
            .call(&["EVAL", LOOK, "0"])
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

    /// The keys of the library that would stay for ever.
    #[track_caller]
    pub fn keys_without_ttl(&self) -> Vec<Key> {
        self.keys().into_iter().filter(|key| key.ttl < 0).collect()
    }

    /// How many tickets hold something now, over all names.
    #[track_caller]
    pub fn held(&self) -> i64 {
        self.count("held")
    }

    /// How many tickets wait for something now, over all names.
    #[track_caller]
    pub fn waiting(&self) -> i64 {
        self.count("waits")
    }

    #[track_caller]
    fn count(&self, what: &str) -> i64 {
        self.connect().call(&["EVAL", COUNT, "0", what]).int()
    }

    /// How many members listen on their channels.
    #[track_caller]
    pub fn members(&self) -> usize {
        let channels = self.command(&["PUBSUB", "CHANNELS", "auto_mutex:member:*"]);
        channels.list().len()
    }

    /// The tickets that hold or wait for `name` (with its namespace).
    #[track_caller]
    pub fn tickets(&self, name: &str) -> Vec<String> {
        let mut connection = self.connect();
        let key = format!("auto_mutex:{{{name}}}");
        let state = connection.call(&["GET", &key]).to_string();
        let words: Vec<&str> = state.split(' ').collect();
        match words[..] {
            ["1", "s", _, _, _, ticket, ..] => vec![ticket.to_owned()],
            _ => connection
                .call(&["HKEYS", &format!("{key}:tickets")])
                .texts(),
        }
    }
}
