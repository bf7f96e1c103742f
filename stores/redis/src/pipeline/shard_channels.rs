//! [`ShardChannels`]: the names with a shard channel, whose messages stay on their node (`scripts/cluster.lua`).

use std::collections::{HashMap, HashSet};

use auto_mutex_seam::store::{MemberId, Name};

use crate::script::command;

const MOST: usize = 4096;

#[derive(Default)]
pub(super) struct ShardChannels {
    /// Whether a node of a cluster is connected and has not refused a subscription.
    usable: bool,
    subscribed: HashSet<String>,
    /// Names for which the store has queued one request; `true` if that was since the last [`sweep`](Self::sweep).
    once: HashMap<String, bool>,
}

impl ShardChannels {
    /// Returns the channels to subscribe to first, because the server may still count the old connection as a
    /// subscriber.
    pub(super) fn reconnect(&mut self) -> Vec<String> {
        self.usable = true;
        self.once.clear();
        self.subscribed.iter().cloned().collect()
    }

    /// Returns the channel at the second call for a name: a subscription for a single request isn't worth its cost.
    pub(super) fn queued(&mut self, name: &Name, member: MemberId) -> Option<String> {
        if !self.usable {
            return None;
        }
        let channel = command::shard_channel(name, member);
        if self.once.remove(&channel).is_some() {
            self.subscribed.insert(channel.clone());
            return Some(channel);
        }
        if self.len() < MOST && !self.subscribed.contains(&channel) {
            self.once.insert(channel, true);
        }
        None
    }

    fn len(&self) -> usize {
        self.subscribed.len() + self.once.len()
    }

    pub(super) fn lost(&mut self, channel: &str) {
        self.subscribed.remove(channel);
        self.once.remove(channel);
    }

    pub(super) fn give_up(&mut self) {
        self.usable = false;
        self.subscribed.clear();
        self.once.clear();
    }

    /// Keeps subscriptions, because the reply to SUNSUBSCRIBE looks like the push that reports a moved slot.
    pub(super) fn sweep(&mut self) {
        self.once.retain(|_, recent| std::mem::take(recent));
    }
}

#[cfg(test)]
mod tests {
    use auto_mutex_seam::store::RandomId;

    use super::*;

    fn name(number: usize) -> Name {
        Name::from_escaped(&format!("n{number}"))
    }

    fn connected() -> ShardChannels {
        let mut channels = ShardChannels::default();
        assert_eq!(channels.reconnect(), [""; 0]);
        channels
    }

    #[test]
    fn who_waits_again_and_again_subscribes() {
        let member = MemberId::random();
        let mut channels = connected();
        let channel = command::shard_channel(&name(1), member);
        assert_eq!(channels.queued(&name(1), member), None);
        assert_eq!(channels.queued(&name(1), member), Some(channel.clone()));
        assert_eq!(channels.queued(&name(1), member), None);
        // The slot has moved away, and may come back.
        channels.lost(&channel);
        assert_eq!(channels.queued(&name(1), member), None);
        assert_eq!(channels.queued(&name(1), member), Some(channel.clone()));
        channels.queued(&name(2), member);
        assert_eq!(channels.reconnect(), [channel]);
        assert_eq!(channels.queued(&name(1), member), None);
        assert_eq!(
            channels.queued(&name(2), member),
            None,
            "for the first time"
        );
        channels.give_up();
        for _ in 0..3 {
            assert_eq!(channels.queued(&name(1), member), None);
        }
    }

    #[test]
    fn what_is_not_used_any_more_is_forgotten() {
        let member = MemberId::random();
        let mut channels = connected();
        for number in [1, 2, 2, 3, 3] {
            channels.queued(&name(number), member);
        }
        channels.sweep();
        assert_eq!(channels.len(), 3, "all were used");
        channels.sweep();
        assert_eq!(channels.len(), 2, "what is subscribed stays so");
    }

    #[test]
    fn there_is_an_end_to_them() {
        let (mut channels, member) = (connected(), MemberId::random());
        for number in 0..2 * MOST {
            channels.queued(&name(number), member);
        }
        assert_eq!(channels.len(), MOST);
        assert!(channels.queued(&name(0), member).is_some());
    }
}
