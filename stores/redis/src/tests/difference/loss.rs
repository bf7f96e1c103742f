//! A server that comes back without its data, or with old data. This affects all keys of a name together.

use auto_mutex_seam::store::Name;

use super::bench::Bench;
use crate::tests::server::run;
use crate::tests::{KEYS, key};

/// The time to live and the content of each key that existed.
pub(super) struct Kept([Option<(i64, Vec<u8>)>; KEYS.len()]);

impl Bench {
    pub(super) fn kept(&mut self, name: &Name) -> Kept {
        Kept(KEYS.map(|suffix| {
            let key = format!("{}{suffix}", key(name));
            let content: Option<Vec<u8>> = run(&mut self.connection, &["DUMP", &key]);
            Some((run(&mut self.connection, &["PTTL", &key]), content?))
        }))
    }

    pub(super) fn delete(&mut self, name: &Name) {
        for suffix in KEYS {
            let key = format!("{}{suffix}", key(name));
            run::<i64>(&mut self.connection, &["DEL", &key]);
        }
    }

    pub(super) fn put(&mut self, name: &Name, kept: &Kept) {
        for (suffix, kept) in KEYS.iter().zip(&kept.0) {
            if let Some((lives, content)) = kept {
                let mut restore = redis::cmd("RESTORE");
                let key = format!("{}{suffix}", key(name));
                restore.arg(key).arg(lives).arg(content);
                restore.exec(&mut self.connection).unwrap();
            }
        }
    }
}
