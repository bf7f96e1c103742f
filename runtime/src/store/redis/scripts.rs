//! The scripts, put together from their files, and their digests.

use std::sync::{Arc, LazyLock};

use redis::Script;

use super::command::{SUFFIXES, SUFFIXES_OF_CLUSTER};

/// One per operation, and the short ways of those that are frequent; see the head of each file in `scripts/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Acquire,
    Touch,
    Release,
    Adopt,
    Force,
    Refresh,
    Raise,
    Signal,
    Delete,
    Inspect,
    ShortAcquire,
    ShortTouch,
    ShortRelease,
    ShortCycle,
    Reign,
}

impl Operation {
    pub(super) const ALL: [Self; 15] = [
        Self::Acquire,
        Self::Touch,
        Self::Release,
        Self::Adopt,
        Self::Force,
        Self::Refresh,
        Self::Raise,
        Self::Signal,
        Self::Delete,
        Self::Inspect,
        Self::ShortAcquire,
        Self::ShortTouch,
        Self::ShortRelease,
        Self::ShortCycle,
        Self::Reign,
    ];

    /// Whether it tells members anything.
    fn publishes(self) -> bool {
        !matches!(self, Self::ShortAcquire | Self::ShortTouch | Self::Reign)
    }

    /// What stands before its text.
    fn common(self) -> &'static str {
        match self {
            Self::ShortAcquire
            | Self::ShortTouch
            | Self::ShortRelease
            | Self::ShortCycle
            | Self::Reign => "",
            _ => COMMON,
        }
    }

    /// What stands behind it.
    fn rest(self) -> &'static str {
        match self {
            Self::ShortCycle => ONE_BY_ONE,
            _ => "",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Acquire => include_str!("scripts/acquire.lua"),
            Self::Touch => include_str!("scripts/touch.lua"),
            Self::Release => include_str!("scripts/release.lua"),
            Self::Adopt => include_str!("scripts/adopt.lua"),
            Self::Force => include_str!("scripts/force.lua"),
            Self::Refresh => include_str!("scripts/refresh.lua"),
            Self::Raise => include_str!("scripts/raise.lua"),
            Self::Signal => include_str!("scripts/signal.lua"),
            Self::Delete => include_str!("scripts/delete.lua"),
            Self::Inspect => include_str!("scripts/inspect.lua"),
            Self::ShortAcquire => include_str!("scripts/short/acquire.lua"),
            Self::ShortTouch => include_str!("scripts/short/touch.lua"),
            Self::ShortRelease => include_str!("scripts/short/release.lua"),
            Self::ShortCycle => include_str!("scripts/short/cycle.lua"),
            Self::Reign => include_str!("scripts/reign.lua"),
        }
    }
}

const CLOCK: &str = include_str!("scripts/clock.lua");
const PUBLISH: &str = include_str!("scripts/publish.lua");
const PUBLISH_IN_CLUSTER: &str = include_str!("scripts/publish_in_cluster.lua");
/// One function that is too long for one file; each part sees those before it.
const COMMON: &str = concat!(
    include_str!("scripts/common/base.lua"),
    include_str!("scripts/common/open.lua"),
    include_str!("scripts/common/owners.lua"),
    include_str!("scripts/common/holders.lua"),
    include_str!("scripts/common/signals.lua"),
    include_str!("scripts/common/grant.lua"),
    include_str!("scripts/common/steps.lua"),
    include_str!("scripts/common/rare.lua"),
    include_str!("scripts/common/close.lua"),
    include_str!("scripts/common/read.lua"),
);

/// What stands behind the short way of a cycle.
const ONE_BY_ONE: &str = concat!(
    "local function release(KEYS, ARGV)\n",
    include_str!("scripts/short/release.lua"),
    "end\nlocal function acquire(KEYS, ARGV)\n",
    include_str!("scripts/short/acquire.lua"),
    "end
local released = release(KEYS, {ARGV[2], ARGV[3]})
return {released, released and acquire(KEYS, {ARGV[1]})}
",
);

/// All operations, ready to load.
#[derive(Debug)]
pub(crate) struct Scripts {
    /// Text and digest.
    all: [(String, String); 15],
    /// What follows a name in the keys of those that can do everything.
    pub(super) suffixes: &'static [&'static str],
}

impl Scripts {
    /// For a server on its own.
    pub(crate) fn of_server() -> Arc<Self> {
        // Made once: the digests take milliseconds in a debug build.
        static ALL: LazyLock<Arc<Scripts>> = LazyLock::new(|| Arc::new(Scripts::on_clock(CLOCK)));
        ALL.clone()
    }

    /// For the nodes of a cluster.
    pub(crate) fn of_cluster() -> Arc<Self> {
        static ALL: LazyLock<Arc<Scripts>> = LazyLock::new(|| {
            Arc::new(Scripts {
                suffixes: &SUFFIXES_OF_CLUSTER,
                ..Scripts::made_of(CLOCK, PUBLISH_IN_CLUSTER)
            })
        });
        ALL.clone()
    }

    /// With another source of time: `clock` defines the function `clock()`.
    pub(super) fn on_clock(clock: &str) -> Self {
        Self::made_of(clock, PUBLISH)
    }

    fn made_of(clock: &str, publish: &str) -> Self {
        let all = Operation::ALL.map(|operation| {
            let publish = if operation.publishes() { publish } else { "" };
            let text = [
                clock,
                publish,
                operation.common(),
                operation.text(),
                operation.rest(),
            ]
            .concat();
            let digest = Script::new(&text).get_hash().to_owned();
            (text, digest)
        });
        Self {
            all,
            suffixes: &SUFFIXES,
        }
    }

    /// With something else in the place of a part of them.
    #[cfg(test)]
    pub(super) fn edited(mut self, part: &str, other: &str) -> Self {
        assert!(self.texts().any(|text| text.contains(part)), "{part:?}");
        for (text, digest) in &mut self.all {
            *text = text.replace(part, other);
            digest.clear();
            digest.push_str(Script::new(text).get_hash());
        }
        self
    }

    /// Whether the server is a node of a cluster.
    pub(super) fn are_of_cluster(&self) -> bool {
        self.suffixes.len() > SUFFIXES.len()
    }

    pub(super) fn digest(&self, operation: Operation) -> &str {
        &self.all[operation as usize].1
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(text, _)| text.as_str())
    }
}
