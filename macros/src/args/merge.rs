//! A block's options are the defaults of its functions.

use super::Options;

impl Options {
    /// These options where they are given, the block's elsewhere.
    pub(crate) fn over(self, block: &Self) -> Self {
        // To queue and to poll exclude each other, so the nearer one decides.
        let polls = self.retries.is_some() || self.interval.is_some();
        let queues = self.block.is_some();
        let given = block
            .given
            .iter()
            .filter(|given| match given.word.to_string().as_str() {
                "block" => !polls,
                "retries" | "interval" => !queues,
                _ => true,
            })
            .filter(|given| self.word(&given.word.to_string()).is_none());
        Self {
            given: self.given.iter().chain(given).cloned().collect(),
            expire: self.expire.or_else(|| block.expire.clone()),
            block: self
                .block
                .or_else(|| block.block.clone().filter(|_| !polls)),
            at_least: self.at_least.or_else(|| block.at_least.clone()),
            retries: self
                .retries
                .or_else(|| block.retries.clone().filter(|_| !queues)),
            interval: self
                .interval
                .or_else(|| block.interval.clone().filter(|_| !queues)),
            on_timeout: self.on_timeout.or_else(|| block.on_timeout.clone()),
            on_error: self.on_error.or_else(|| block.on_error.clone()),
            on_lost: self.on_lost.or_else(|| {
                block.on_lost.clone().map(|on_lost| super::OnLost {
                    inherited: true,
                    ..on_lost
                })
            }),
            ns: self.ns.or_else(|| block.ns.clone()),
            name: self.name.or_else(|| block.name.clone()),
            key_inherited: self.key.is_none(),
            key: self.key.or_else(|| block.key.clone()),
            guard: self.guard.or_else(|| {
                block.guard.clone().map(|guard| super::Guard {
                    inherited: true,
                    ..guard
                })
            }),
            client: self.client.or_else(|| block.client.clone()),
            runtime: self.runtime.or_else(|| block.runtime.clone()),
            explicit: self.explicit,
            done: self.done,
        }
    }
}
