//! [`ShardChannels`]: which names a connection to a node of a cluster has a channel of its own for.
//!
//! What is published on a member's own channel goes to all nodes of the cluster; what is published on one that belongs to
//! a slot stays at the node. Where there is none, or none any more since the slot has moved, the member's own does: see
//! `scripts/publish_in_cluster.lua`.

use std::collections::HashMap;

use super::command;
use crate::name::Name;
use crate::store::MemberId;

/// More names than this are not listened for one by one, as long as the connection lives.
const MOST: usize = 4096;

/// Of one connection.
#[derive(Debug)]
pub(super) struct ShardChannels {
    member: MemberId,
    /// The server knows them, and lets us.
    usable: bool,
    /// By channel.
    known: HashMap<String, Use>,
}

#[derive(Debug)]
enum Use {
    /// Waited for once, `recent`ly: since the last [`ShardChannels::sweep`].
    Once {
        recent: bool,
    },
    Subscribed,
}

impl ShardChannels {
    pub(super) fn new(member: MemberId) -> Self {
        Self {
            member,
            usable: true,
            known: HashMap::new(),
        }
    }

    /// A new connection. Returns the channels to subscribe to at once: the server may not know yet that the old one is lost,
    /// and would take it for the one who listens.
    pub(super) fn reconnect(&mut self) -> Vec<String> {
        self.usable = true;
        self.known
            .retain(|_, known| matches!(known, Use::Subscribed));
        self.known.keys().cloned().collect()
    }

    /// Somebody has to wait for the name. Returns the channel to subscribe to from now on: one wait alone is not worth it.
    pub(super) fn queued(&mut self, name: &Name) -> Option<String> {
        if !self.usable {
            return None;
        }
        let channel = command::shard_channel(name, self.member);
        match self.known.get_mut(&channel) {
            Some(Use::Subscribed) => return None,
            Some(once) => {
                *once = Use::Subscribed;
                return Some(channel);
            }
            None => {}
        }
        if self.known.len() < MOST {
            self.known.insert(channel, Use::Once { recent: true });
        }
        None
    }

    /// The slot of the channel has left the node.
    pub(super) fn lost(&mut self, channel: &str) {
        self.known.remove(channel);
    }

    /// The server has none, or does not let us.
    pub(super) fn give_up(&mut self) {
        self.usable = false;
        self.known.clear();
    }

    /// Forgets the names that nobody waited for again since the last time.
    ///
    /// What is subscribed stays so: the reply to an SUNSUBSCRIBE cannot be told from what the server says by itself when
    /// the slot moves, and then a second one may come.
    pub(super) fn sweep(&mut self) {
        self.known.retain(|_, known| match known {
            Use::Once { recent } => std::mem::take(recent),
            Use::Subscribed => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> Name {
        Name::from_escaped(&format!("n{number}"))
    }

    #[test]
    fn who_waits_again_and_again_subscribes() {
        let member = MemberId::random();
        let mut channels = ShardChannels::new(member);
        let channel = command::shard_channel(&name(1), member);
        assert_eq!(channels.queued(&name(1)), None);
        assert_eq!(channels.queued(&name(1)), Some(channel.clone()));
        assert_eq!(channels.queued(&name(1)), None);
        // The slot has moved, and maybe it comes back.
        channels.lost(&channel);
        assert_eq!(channels.queued(&name(1)), None);
        assert_eq!(channels.queued(&name(1)), Some(channel.clone()));
        channels.queued(&name(2));
        assert_eq!(channels.reconnect(), [channel]);
        assert_eq!(channels.queued(&name(1)), None);
        assert_eq!(channels.queued(&name(2)), None, "for the first time");
        channels.give_up();
        for _ in 0..3 {
            assert_eq!(channels.queued(&name(1)), None);
        }
    }

    #[test]
    fn what_is_not_used_any_more_is_forgotten() {
        let member = MemberId::random();
        let mut channels = ShardChannels::new(member);
        for number in [1, 2, 2, 3, 3] {
            channels.queued(&name(number));
        }
        channels.sweep();
        assert_eq!(channels.known.len(), 3, "all were used");
        channels.sweep();
        assert_eq!(channels.known.len(), 2, "what is subscribed stays so");
    }

    #[test]
    fn there_is_an_end_to_them() {
        let mut channels = ShardChannels::new(MemberId::random());
        for number in 0..2 * MOST {
            channels.queued(&name(number));
        }
        assert_eq!(channels.known.len(), MOST);
        assert!(channels.queued(&name(0)).is_some());
    }
}
