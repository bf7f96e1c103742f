//! A block's options are the defaults of its functions.

use super::{Guard, OnLost, Options, word};

impl Options {
    /// Returns these options, with the options of the block as defaults.
    pub(crate) fn over(self, block: &Self) -> Self {
        let block = block.without(|word| self.rules_out(word, block));
        Self {
            kind: self.kind,
            span: self.span,
            key_inherited: self.key.is_none() && self.keys.is_none(),
            given: self.given.into_iter().chain(block.given).collect(),
            expire: self.expire.or(block.expire),
            block: self.block.or(block.block),
            at_least: self.at_least.or(block.at_least),
            retries: self.retries.or(block.retries),
            interval: self.interval.or(block.interval),
            on_timeout: self.on_timeout.or(block.on_timeout),
            on_error: self.on_error.or(block.on_error),
            on_lost: self.on_lost.or(block.on_lost.map(|on_lost| OnLost {
                inherited: true,
                ..on_lost
            })),
            ns: self.ns.or(block.ns),
            name: self.name.or(block.name),
            key: self.key.or(block.key),
            keys: self.keys.or(block.keys),
            was: self.was.or(block.was),
            owner: self.owner.or(block.owner),
            order: self.order.or(block.order),
            reentrant: self.reentrant.or(block.reentrant),
            permits: self.permits.or(block.permits),
            guard: self.guard.or(block.guard.map(|guard| Guard {
                inherited: true,
                ..guard
            })),
            client: self.client.or(block.client),
            runtime: self.runtime.or(block.runtime),
            explicit: self.explicit,
            done: self.done,
        }
    }

    /// Whether the option `word` of the block does not apply to a function with these options.
    fn rules_out(&self, word: &str, block: &Self) -> bool {
        let given = |word| self.word(word).is_some();
        let excluded = match word {
            // Queueing and polling exclude each other, so the function's choice replaces the choice of the block.
            "block" => given("retries") || given("interval"),
            "retries" | "interval" => given("block"),
            "key" => given("keys"),
            "keys" => given("key"),
            // An owner shares its lock among calls, so the function's choice replaces the choice of the block.
            "owner" => self.reentrant == Some(false),
            "reentrant" => given("owner"),
            // A lock of another kind cannot have the same name.
            "name" => !self.kind.shares_locks_with(block.kind),
            word::EXPLICIT => true,
            _ => false,
        };
        excluded || given(word) || word::misplaced(word, self.kind).is_some()
    }

    fn without(&self, ruled_out: impl Fn(&str) -> bool) -> Self {
        let mut left = self.clone();
        left.given.retain(|given| {
            let word = given.word.to_string();
            let out = ruled_out(&word);
            if out {
                match word.as_str() {
                    "block" => left.block = None,
                    "retries" => left.retries = None,
                    "interval" => left.interval = None,
                    "name" => left.name = None,
                    "key" => left.key = None,
                    "keys" => left.keys = None,
                    "was" => left.was = None,
                    "owner" => left.owner = None,
                    "reentrant" => left.reentrant = None,
                    "permits" => left.permits = None,
                    // For these options, `over` prefers the function's value, or the option does not apply to
                    // functions.
                    _ => {}
                }
            }
            !out
        });
        left
    }
}
