//! The scripts, put together from their files, and their digests.
//!
//! They are few, since a server has to be sent each of them once: all operations are one, and so is the short way of each of those that are
//! frequent.

use std::sync::{Arc, LazyLock};

use super::command::{SUFFIXES, SUFFIXES_OF_CLUSTER};

/// What a server knows by a digest; see the head of each file in `scripts/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Every operation, by its name.
    Long,
    ShortAcquire,
    ShortTouch,
    ShortRelease,
    ShortCycle,
    Reign,
}

impl Script {
    pub(super) const ALL: [Self; 6] = [
        Self::Long,
        Self::ShortAcquire,
        Self::ShortTouch,
        Self::ShortRelease,
        Self::ShortCycle,
        Self::Reign,
    ];

    /// Put together, with these sources of time and ways to tell a member.
    fn text(self, clock: &str, publish: &str) -> String {
        let release = include_str!("scripts/short/release.lua");
        let acquire = include_str!("scripts/short/acquire.lua");
        let text = match self {
            Self::Long => [clock, publish, COMMON, &one_of_all()].concat(),
            Self::ShortAcquire => [clock, acquire].concat(),
            Self::ShortTouch => [clock, include_str!("scripts/short/touch.lua")].concat(),
            Self::ShortRelease => [clock, publish, release].concat(),
            Self::ShortCycle => {
                let cycle = include_str!("scripts/short/cycle.lua");
                let one_by_one = [
                    "local function release(KEYS, ARGV)\n",
                    release,
                    "end\nlocal function acquire(KEYS, ARGV)\n",
                    acquire,
                    "end\nlocal released = release(KEYS, {ARGV[2], ARGV[3]})\n",
                    "return {released, released and acquire(KEYS, {ARGV[1]})}\n",
                ];
                [clock, publish, cycle, &one_by_one.concat()].concat()
            }
            Self::Reign => [clock, include_str!("scripts/term.lua")].concat(),
        };
        bare(&text)
    }
}

/// The operations that can do everything, by the name that is their first argument.
const OPERATIONS: [(&str, &str); 10] = [
    ("acquire", include_str!("scripts/acquire.lua")),
    ("touch", include_str!("scripts/touch.lua")),
    ("release", include_str!("scripts/release.lua")),
    ("adopt", include_str!("scripts/adopt.lua")),
    ("force", include_str!("scripts/force.lua")),
    ("refresh", include_str!("scripts/refresh.lua")),
    ("raise", include_str!("scripts/raise.lua")),
    ("signal", include_str!("scripts/signal.lua")),
    ("delete", include_str!("scripts/delete.lua")),
    ("inspect", include_str!("scripts/inspect.lua")),
];

/// Runs the operation that the first argument names.
fn one_of_all() -> String {
    let mut all = String::from("local operation = ARGV[1]\n");
    for (name, text) in OPERATIONS {
        all.push_str("if operation == '");
        all.push_str(name);
        all.push_str("' then\n");
        all.push_str(text);
        all.push_str("end\n");
    }
    all
}

/// Without comments and indentation, which a server need not be sent. (No line of a script begins inside a text.)
fn bare(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let mut bare = String::with_capacity(text.len());
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("--")) {
        bare.push_str(line);
        bare.push('\n');
    }
    bare
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

/// All of them, ready to load.
#[derive(Debug)]
pub(crate) struct Scripts {
    /// Text and digest.
    all: [(String, String); Script::ALL.len()],
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
        let all = Script::ALL.map(|script| {
            let text = script.text(clock, publish);
            let digest = digest(&text);
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
        let part = bare(part);
        let part = part.trim_end();
        assert!(self.texts().any(|text| text.contains(part)), "{part:?}");
        for (text, known) in &mut self.all {
            *text = text.replace(part, other);
            *known = digest(text);
        }
        self
    }

    /// Whether the server is a node of a cluster.
    pub(super) fn are_of_cluster(&self) -> bool {
        self.suffixes.len() > SUFFIXES.len()
    }

    pub(super) fn digest(&self, script: Script) -> &str {
        &self.all[script as usize].1
    }

    #[cfg(test)]
    pub(super) fn text(&self, script: Script) -> &str {
        &self.all[script as usize].0
    }

    pub(super) fn digests(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(_, digest)| digest.as_str())
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(text, _)| text.as_str())
    }
}

fn digest(text: &str) -> String {
    redis::Script::new(text).get_hash().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_short_enough_for_a_slow_link() {
        for scripts in [Scripts::of_server(), Scripts::of_cluster()] {
            let total: usize = scripts.texts().map(str::len).sum();
            assert!(total < 60_000, "{total}");
        }
    }

    #[test]
    fn nothing_of_a_text_of_lua_is_taken_for_a_comment() {
        let sources = [COMMON, CLOCK, PUBLISH, PUBLISH_IN_CLUSTER];
        let operations = OPERATIONS.iter().map(|(_, text)| *text);
        for text in sources.into_iter().chain(operations) {
            assert!(
                !text.contains("[[") && !text.contains("[="),
                "a long text: {text}"
            );
            assert!(!text.lines().any(|line| line.ends_with('\\')), "{text}");
        }
    }
}
