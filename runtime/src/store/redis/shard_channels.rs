//! [`ShardChannels`]: the names that have a channel of their own on a connection to a node of a cluster.
//!
//! A message on a member's own channel goes to all nodes of the cluster; one on a channel of a slot stays at its node. Where
//! the member does not listen to that (not yet, or the slot has moved), its own channel is used: see
//! `scripts/publish_in_cluster.lua`.

use std::collections::HashMap;

use super::command;
use crate::name::Name;
use crate::store::MemberId;

/// So many names at most have a channel, as long as the connection lives.
const MOST: usize = 4096;

/// Of one connection.
#[derive(Debug)]
pub(super) struct ShardChannels {
    member: MemberId,
    /// The server has shard channels, and we may use them.
    usable: bool,
    /// By channel.
    known: HashMap<String, Use>,
}

#[derive(Debug)]
enum Use {
    /// A request for it was queued once; `recent`: since the last [`ShardChannels::sweep`].
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

    /// A new connection. Returns the channels to subscribe to at once: until the server notices that the old connection is lost,
    /// it counts that as the listener.
    pub(super) fn reconnect(&mut self) -> Vec<String> {
        self.usable = true;
        self.known
            .retain(|_, known| matches!(known, Use::Subscribed));
        self.known.keys().cloned().collect()
    }

    /// A request for the name was queued. The second one returns the channel to subscribe to: once alone is not worth it.
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

    /// The server has no shard channels, or does not let us use them.
    pub(super) fn give_up(&mut self) {
        self.usable = false;
        self.known.clear();
    }

    /// Forgets the names that were not queued for again since the last sweep.
    ///
    /// Subscriptions stay: the reply to an SUNSUBSCRIBE looks like the push of a server whose slot moves, and both may come.
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
