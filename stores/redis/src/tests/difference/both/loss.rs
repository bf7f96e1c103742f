//! A server that comes back without its data, or with old data. All keys of a name are affected at once.

use auto_mutex_core::store::State;
use redis::FromRedisValue;

use super::super::super::{KEYS, key};
use super::{Both, run};

/// The state of a name at some time, in the model and on the server.
pub(crate) struct Snapshot {
    state: State,
    /// For each key that existed: its time to live, and its content.
    keys: [Option<(i64, Vec<u8>)>; 6],
}

impl Both<'_> {
    pub(crate) fn keep(&mut self, index: usize) -> Snapshot {
        let keys = KEYS.map(|suffix| {
            let key = self.key(index, suffix);
            let content: Option<Vec<u8>> = self.run(&["DUMP", &key]);
            Some((self.run(&["PTTL", &key]), content?))
        });
        Snapshot {
            state: self.names[index].1.clone(),
            keys,
        }
    }

    pub(crate) fn lose(&mut self, index: usize) {
        for suffix in KEYS {
            let key = self.key(index, suffix);
            self.run::<i64>(&["DEL", &key]);
        }
        self.names[index].1 = State::default();
    }

    pub(crate) fn restore(&mut self, index: usize, snapshot: &Snapshot) {
        self.lose(index);
        for (suffix, kept) in KEYS.iter().zip(&snapshot.keys) {
            if let Some((lives, content)) = kept {
                let mut restore = redis::cmd("RESTORE");
                restore.arg(self.key(index, suffix)).arg(lives).arg(content);
                restore.exec(&mut self.bench.connection).unwrap();
            }
        }
        self.names[index].1 = snapshot.state.clone();
    }

    fn key(&self, index: usize, suffix: &str) -> String {
        format!("{}{suffix}", key(&self.names[index].0))
    }

    fn run<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        run(&mut self.bench.connection, words)
    }
}
