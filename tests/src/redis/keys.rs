//! What the library under test has left in the store.

use super::Redis;

/// All keys of the library with their TTL in milliseconds (-1: none), in one atomic look.
const LOOK: &str = "local found = {} \
                    for _, key in ipairs(redis.call('KEYS', 'auto_mutex:*')) do \
                        found[#found + 1] = redis.call('PTTL', key) .. ' ' .. key \
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
    /// Whether it is the hash of a name, which keeps the fencing token.
    pub fn is_token_hash(&self) -> bool {
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

    /// How many tickets hold something, over all names.
    #[track_caller]
    pub fn held(&self) -> i64 {
        self.count("}:held")
    }

    /// How many tickets wait for something, over all names.
    #[track_caller]
    pub fn waiting(&self) -> i64 {
        self.count("}:queue") + self.count("}:quiet")
    }

    fn count(&self, suffix: &str) -> i64 {
        let mut connection = self.connect();
        self.keys()
            .iter()
            .filter(|key| key.name.ends_with(suffix))
            .map(|key| connection.call(&["ZCARD", &key.name]).int())
            .sum()
    }
}
