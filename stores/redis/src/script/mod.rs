//! The two scripts, assembled from their files. Words in capitals are constants, which this file inserts.

pub(crate) mod command;
pub(crate) mod reply;

use std::collections::HashMap;
use std::sync::Arc;

use auto_mutex_seam::store::{LIMITS, RW_LOCK, millis};
use once_cell::race::OnceBox;

use self::command::{CHANNEL, KEY, SHARD_CHANNEL};

pub(crate) mod code {
    macro_rules! codes {
        ($($name:ident = $code:literal,)*) => {
            $(pub(crate) const $name: u8 = $code;)*
            pub(crate) const ALL: &[(&str, u8)] = &[$((stringify!($name), $name)),*];
        };
    }
    /// Added to the code of an acquire with all of its numbers.
    pub(crate) const LONG: u8 = 16;
    codes! {
        // With other bits: see `head.lua`.
        ACQUIRE = b'@',
        TRY = b'H',
        TOUCH = b't',
        RELEASE = b'r',
        ADOPT = b'd',
        RAISE = b'i',
        SIGNAL = b's',
        FORCE = b'f',
        KICK = b'k',
        DELETE = b'x',
        INSPECT = b'?',
        PROBE = b'p',
        UNTIL = b'u',
        SPREAD = b'o',
    }
}

const SUFFIXES: [(&str, &str); 9] = [
    ("OF_TICKETS", ":tickets"),
    ("OF_HELD", ":held"),
    ("OF_TOKENS", ":tokens"),
    ("OF_QUEUE", ":queue"),
    ("OF_WAITS", ":waits"),
    ("OF_GONE", ":gone"),
    ("OF_SIGNALS", ":signals"),
    ("OF_KICK", ":kick"),
    // This key never exists: see `cluster.lua`.
    ("OF_WHOLE", ":whole"),
];

/// The numbers in the state, in order. See `state.lua`.
const FIELDS: &str = "TOK CAP SEQ CLK USED DUE LATEST TOLD HOLDERS WAITING KNOWN SIZE TOMBS EXPIRES SIGNALS LAST LENT HELD_APART \
    QUEUE_APART";
const FIELDS_OF_QUEUE: u64 = 12;
const RECORD: &str =
    "FLAG PLACE HEARD WHEN TOKEN NUMBER TICKET REQUEST HOLD WAIT UNITS MODE COUNTER CHANGED TEXT";

/// Lengths in bytes: a ticket and a member, the mark of a form, the fixed part of a record, and the fixed part of a
/// short and of a long request.
const IDS: u64 = 2 * 16;
const MARK: u64 = 4;
const RECORD_SIZE: u64 = 42;
const SHORT_SIZE: u64 = IDS + 1 + 2 * 4;
const LONG_SIZE: u64 = SHORT_SIZE + 3 * 4;
/// The most holders, and the most waiters, in the first key. When only `FEW` are left in the other keys, they move
/// back.
const MOST: u64 = 24;
const FEW: u64 = 12;
// Otherwise a state in the form `3 q` could have waiters that fit, to which the next operation grants.
const _: () = assert!(MOST < LIMITS.batch as u64);
/// The time to live that plain operations set. The token must outlive the hold by ten minutes, so the longest hold plus
/// `WINDOW_US` stays below ten minutes.
const FRESH_MS: u64 = 2 * millis(LIMITS.kept);
const LONGEST_HOLD_MS: u64 = 300_000;
/// How long, in microseconds, operations on a name in the forms `3 i`, `3 s` and `3 t` may leave its time to live
/// unchanged.
const WINDOW_US: u64 = 256_000_000;

/// The length of a state without holders, waiters and signals: a mark, and a token.
pub(crate) const LONGEST_IDLE: usize = MARK as usize + 8;

/// Whether a state is in the form `3 i` or `3 d`: see `head.lua`.
pub(crate) fn is_idle(state: &[u8]) -> bool {
    let is_marked = state.starts_with(b"3 i ") || state.starts_with(b"3 d ");
    is_marked && state.len() == LONGEST_IDLE
}

fn constants() -> HashMap<&'static str, String> {
    let quoted = |text: &str| format!("'{text}'");
    let queue = MARK + 8 * FIELDS_OF_QUEUE + 1;
    let fields = FIELDS.split(' ').count() as u64;
    let numbers = [
        ("IDLE_SIZE", LONGEST_IDLE as u64),
        ("SINGLE_SIZE", MARK + 8 + SHORT_SIZE),
        ("RECORD_SIZE", RECORD_SIZE),
        ("LONG", code::LONG.into()),
        ("SHORT_SIZE", SHORT_SIZE),
        ("LONG_SIZE", LONG_SIZE),
        // In a long request, whose last number it is.
        ("CAPACITY_AT", LONG_SIZE - 3),
        ("QUEUE_START", queue),
        // The code of the first request.
        ("CODE_START", queue + RECORD_SIZE + IDS),
        ("FULL_START", queue + 8 * (fields - FIELDS_OF_QUEUE)),
        ("NAME_START", KEY.len() as u64 + 1),
        ("MOST", MOST),
        ("FEW", FEW),
        ("LONGEST_HOLD_MS", LONGEST_HOLD_MS),
        ("WINDOW_US", WINDOW_US),
        // Fits into the 6 bytes of LATER.
        ("LONGEST_LATER", 1 << 48),
        ("LONGEST_LEASE_MS", millis(LIMITS.longest_lease)),
        // FAR is greater than every time and number. QUIET is added to the place of a quiet waiter.
        ("FAR", 1 << 53),
        ("QUIET", 1 << 52),
        ("CLAIM_MS", millis(LIMITS.claim)),
        ("TOMB_MS", millis(LIMITS.tombstone)),
        ("KEPT_MS", millis(LIMITS.kept)),
        ("SIGNALS_KEPT_MS", millis(LIMITS.signals_kept)),
        ("NEAR_MS", millis(LIMITS.near_touch)),
        ("NEAR", LIMITS.near as u64),
        ("BATCH", LIMITS.batch as u64),
        ("RW_LOCK", RW_LOCK.into()),
    ];
    let texts = [
        // Only used as an argument of commands. Lua would format a number for each command.
        ("FRESH_MS", quoted(&FRESH_MS.to_string())),
        ("CHANNEL", quoted(CHANNEL)),
        ("SHARD_CHANNEL", quoted(SHARD_CHANNEL)),
    ];
    let numbers = numbers.map(|(name, number)| (name, number.to_string()));
    let codes = code::ALL.iter();
    let codes = codes.map(|(name, code)| (*name, code.to_string()));
    let suffixes = SUFFIXES.map(|(name, suffix)| (name, quoted(suffix)));
    let places = [FIELDS, RECORD].into_iter().flat_map(|all| {
        let all = all.split(' ').enumerate();
        all.map(|(index, name)| (name, (index + 1).to_string()))
    });
    let all = numbers.into_iter().chain(texts).chain(codes);
    all.chain(suffixes).chain(places).collect()
}

fn filled(text: &str) -> String {
    let constants = constants();
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut filled = String::with_capacity(text.len());
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            filled.push('\'');
        }
        if index % 2 == 1 {
            filled.push_str(part);
            continue;
        }
        for piece in part.split_inclusive(|c| !is_of_word(c)) {
            let word = piece.trim_end_matches(|c| !is_of_word(c));
            filled.push_str(constants.get(word).map_or(word, String::as_str));
            filled.push_str(&piece[word.len()..]);
        }
    }
    filled
}

/// Removes comments and indentation. No line of a script begins inside a string.
fn bare(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let mut bare = String::with_capacity(text.len());
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("--")) {
        bare.push_str(line);
        bare.push('\n');
    }
    bare
}

const CLOCK: &str = include_str!("clock.lua");
const HEAD: &str = include_str!("head.lua");
const SERVER: &str = include_str!("server.lua");
const CLUSTER: &str = include_str!("cluster.lua");
const REST: &str = concat!(
    include_str!("plain.lua"),
    include_str!("state.lua"),
    include_str!("give.lua"),
    include_str!("load.lua"),
    include_str!("seldom.lua"),
    include_str!("apart.lua"),
    include_str!("steps.lua"),
    include_str!("write.lua"),
    include_str!("foot.lua"),
);

pub(crate) struct Scripts {
    all: [(String, String); 2],
    of_cluster: bool,
}

impl Scripts {
    pub(crate) fn of(cluster: bool) -> Arc<Self> {
        // Made once, because the digests take time. No mutex, which a fork could leave locked.
        static ALL: [OnceBox<Arc<Scripts>>; 2] = [OnceBox::new(), OnceBox::new()];
        let scripts = ALL[usize::from(cluster)]
            .get_or_init(|| Box::new(Arc::new(Self::made_of(CLOCK, cluster))));
        scripts.clone()
    }

    /// `clock` is the source of time, and must define the function `clock()`.
    pub(crate) fn made_of(clock: &str, of_cluster: bool) -> Self {
        let publish = if of_cluster { CLUSTER } else { SERVER };
        let locks = [bare(clock), filled(&bare(&[HEAD, publish, REST].concat()))].concat();
        let epoch = bare(&[clock, include_str!("epoch.lua")].concat());
        let all = [locks, epoch].map(|text| {
            let digest = digest(&text);
            (text, digest)
        });
        Self { all, of_cluster }
    }

    pub(crate) fn are_of_cluster(&self) -> bool {
        self.of_cluster
    }

    /// The digests of the script for operations and of the one for the epoch.
    pub(crate) fn digests(&self) -> [&str; 2] {
        self.all.each_ref().map(|(_, digest)| digest.as_str())
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(text, _)| text.as_str())
    }
}

fn digest(text: &str) -> String {
    redis::Script::new(text).get_hash().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(repository)]
    impl Scripts {
        /// The same scripts with one part replaced.
        pub(crate) fn edited(mut self, part: &str, other: &str) -> Self {
            let [part, other] = [part, other].map(|text| filled(bare(text).trim_end()));
            assert!(self.texts().any(|text| text.contains(&part)), "{part:?}");
            for (text, known) in &mut self.all {
                *text = text.replace(&part, &other);
                *known = digest(text);
            }
            self
        }
    }

    #[test]
    fn all_of_them_are_short_enough_for_a_slow_link() {
        for scripts in [Scripts::of(false), Scripts::of(true)] {
            let total: usize = scripts.texts().map(str::len).sum();
            assert!(total < 60_000, "{total}");
        }
    }

    #[test]
    fn no_constant_is_without_a_value() {
        // Names that a part defines for itself.
        let own = [
            "KEY",
            "KEYS",
            "ARGV",
            "TICKETS_KEY",
            "HELD_KEY",
            "TOKENS_KEY",
            "QUEUE_KEY",
            "WAITS_KEY",
            "SIGNALS_KEY",
            "REDIS_VERSION_NUM",
        ];
        let text = filled(&bare(&[HEAD, SERVER, CLUSTER, REST].concat()));
        let code = text.split('\'').step_by(2);
        let words =
            code.flat_map(|code| code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        let left: Vec<_> = words
            .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
            .filter(|word| !own.contains(word))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn nothing_of_a_text_of_lua_is_taken_for_a_comment() {
        for text in [HEAD, REST, CLOCK, SERVER, CLUSTER] {
            assert!(
                !text.contains("[[") && !text.contains("[="),
                "a long text: {text}"
            );
            assert!(!text.lines().any(|line| line.ends_with('\\')), "{text}");
        }
    }
}
