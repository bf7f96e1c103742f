//! The table of all options. An option's row has everything about it.

use proc_macro2::{Ident, Span};
use syn::parse::ParseStream;
use syn::{Expr, LitStr, Path, Result};

use super::key::Part;
use super::length::Least;
use super::read::{self, FIXED, REASON};
use super::row::{ROW, Row, Value, table};
use super::{Count, Given, Handler, Key, Keys, Length, OnLost, Was, Word};
use crate::kind::Kind::{self, Leader, Mutex, Read, Semaphore, Write};

/// The shortest `expire`, below which a hold would end before it could be used. The runtime has the same limit.
const EXPIRE: Least = Least::Milliseconds(10);

/// The most permits. The next number is the capacity that marks a readers-writer lock.
const MOST_PERMITS: u32 = (1 << 30) - 1;

const NO_MUTEX: &[Kind] = &[Semaphore, Read, Write, Leader];
const ONLY_LEADER: &[(&[Kind], &str)] = &[(
    &[Mutex, Semaphore, Read, Write],
    "only a leader has this option: leave it out, or use `#[auto_leader]`",
)];

table! {
    expire: Length {
        read: |word, input| Length::parse(&word.text, EXPIRE, input.parse()?),
        example: "expire = 100",
        meaning: "how long to hold at most",
        elsewhere: "ttl hold holdfor maxhold maxholdtime lockatmostfor atmost leasetime leaseduration locktimeout \
            locktime lockttl lockduration duration expires expiresin expiresafter expireafter expiry expiration ex px \
            autorelease autoreleasetime maxduration validity visibilitytimeout",
        refused: &[(&[Leader], "a leader leads until its term ends: leave `expire` out; with `progress = 60`, a leader that hangs gives the lead up")],
    }
    block: Length {
        read: |word, input| Length::parse(&word.text, Least::Zero, input.parse()?),
        example: "block = 10",
        meaning: "how long to wait",
        elsewhere: "wait waittimeout waittime waitfor maxwait maxwaittime acquiretimeout acquisitiontimeout blocking \
            blockingtimeout blockfor trylock nonblocking nowait patience deadline",
        refused: &[(&[Leader], "a standby waits until it leads: leave `block` out")],
    }
    at_least: Length {
        read: |word, input| Length::parse(&word.text, Least::Milliseconds(1), input.parse()?),
        example: "at_least = 60",
        meaning: "how long to hold at least",
        elsewhere: "lockatleastfor minhold minholdtime holdatleast minduration",
        refused: &[(&[Leader], "the next leader takes over as soon as the body has ended: leave `at_least` out")],
    }
    retain: Length {
        read: |word, input| Length::parse(&word.text, Least::Zero, input.parse()?),
        example: "retain = 1",
        meaning: "how long to keep the lock after the body if nobody asks for it",
        elsewhere: "retention retainfor keepfor keeplock linger lingerfor greedy sticky cache cachefor",
        refused: &[
            (&[Semaphore, Read], "only the lock of a single holder can be kept: `#[auto_mutex]` and `#[auto_write]` take `retain`"),
            (&[Leader], "a lead that was given up goes to the next standby: leave `retain` out"),
        ],
        clashes: &[
            ("keys", "several locks at once are not kept: leave out `retain`"),
            ("was", "with `was`, the call takes two locks, and these are not kept: leave out `retain`"),
            ("owner", "a lock with an `owner` is not kept: leave out `retain`"),
        ],
        is_default: |kind, _| matches!(kind, Mutex | Write),
    }
    retries: Count {
        read: |word, input| Count::parse(&word.text, 0..=u32::MAX, input.parse()?),
        example: "retries = 3",
        meaning: "how often to ask again, without a place in the queue",
        elsewhere: "retrycount maxretries maxretry attempts maxattempts tries",
        clashes: &[("block", "`retries` polls instead of waiting in the queue for `block`: leave out one of them")],
        refused: &[(&[Leader], "standbys wait in the queue, without polling: leave `retries` out")],
    }
    interval: Length {
        read: |word, input| Length::parse(&word.text, Least::Milliseconds(1), input.parse()?),
        example: "interval = 0.01",
        meaning: "the time between `retries`",
        elsewhere: "retrydelay retryinterval retrywait retryafter delay sleep pollinterval polldelay",
        needs: Some(("retries", "`interval` is the time between `retries`: say how many, as in `retries = 3`")),
        refused: &[(&[Leader], "standbys wait in the queue, without polling: leave `interval` out")],
    }
    on_timeout: Handler {
        read: |word, input| Handler::parse(word, input.parse()?),
        example: "on_timeout = Self::busy",
        meaning: "what to return without the lock",
        elsewhere: "fallback onbusy onlocked onconflict oncontention onfail onfailure orelse otherwise default skip \
            ifbusy iflocked",
        refused: &[(&[Leader], "a standby waits without a limit: leave `on_timeout` out")],
    }
    on_error: Handler {
        read: |word, input| Handler::parse(word, input.parse()?),
        example: "on_error = Self::failed",
        meaning: "what to return on any other error of the lock",
        elsewhere: "error onerr err errorhandler failure",
        refused: &[(&[Leader], "the return type carries the error: leave `on_error` out")],
    }
    on_lost: OnLost {
        read: |_, input| OnLost::parse(input.parse()?),
        example: "on_lost = finish",
        meaning: "what happens to the body when the lock is lost",
        elsewhere: "onloss cancel onexpire onexpired",
        refused: &[(&[Leader], "a body whose term is lost is cancelled: leave `on_lost` out; `stop_within = 5` is how long it may take to end")],
    }
    ns: LitStr {
        read: |word, input| read::fixed(word, &input.parse()?),
        alias: "namespace",
        example: "ns = \"billing\"",
        meaning: "the first part of the name",
        elsewhere: "prefix keyprefix group env environment tenant realm",
    }
    name: LitStr {
        read: |word, input| read::fixed(word, &input.parse()?),
        example: "name = \"close-month\"",
        meaning: "the lock's name",
        // A lock of another kind cannot have the same name.
        is_default: Kind::shares_locks_with,
    }
    key: Key {
        read: |_, input| Key::parse(input.parse()?),
        example: "key = \"{id}\"",
        meaning: "a lock per value",
        elsewhere: "by per lockkey keyexpression hash args",
    }
    keys: Keys {
        read: |_, input| Keys::parse(input.parse()?),
        example: "keys = [from, to]",
        meaning: "several locks at once",
        elsewhere: "multi locks ids resources multiple",
        refused: &[(NO_MUTEX, "`keys` takes several mutexes at once, so it is for `#[auto_mutex]`: name a single lock with `key`")],
        clashes: &[("key", "`key` is one lock and `keys` are several: put all of them into `keys`")],
    }
    was: Was {
        read: |word, input| Was::parse(&read::literal(word, &input.parse()?, FIXED)?),
        example: "was = \"{namespace}:Ledger:close\"",
        meaning: "the old name, of which the lock is taken too",
        elsewhere: "previous previousname previously oldname formerly renamedfrom",
        refused: &[(NO_MUTEX, "`was` also takes the mutex of an old name, so it is for `#[auto_mutex]`: to keep the old name, write `name = \"…\"`")],
    }
    owner: Expr {
        read: |_, input| read::owner(input.parse()?),
        example: "owner = session.id",
        meaning: "who holds it, instead of the task",
        elsewhere: "ownerid session caller",
        refused: &[(NO_MUTEX, "only a mutex has an owner, so `owner` is for `#[auto_mutex]`: leave it out")],
        clashes_across: &[
            ("keys", "`owner` is for a single mutex, and `keys` takes several: leave out one of them"),
            ("was", "`owner` is for a single mutex, and `was` takes several: leave out one of them"),
        ],
    }
    /// Why the order of the function's locks is intended.
    order: LitStr {
        read: |word, input| read::literal(word, &input.parse()?, REASON),
        example: "order = \"accounts before ledger\"",
    }
    reentrant: bool {
        read: |word, input| read::flag(word, &input.parse()?),
        example: "reentrant = false",
        meaning: "whether a nested call shares the lock of its task",
        elsewhere: "reentry recursive recursion nested reentrancy",
        refused: &[(&[Leader], "a leader cannot stand again inside its own body: leave `reentrant` out")],
        clashes: &[("owner", "calls of one `owner` share the lock, and `reentrant = false` forbids it: leave out one of them")],
        clashes_if: |options| options.reentrant == Some(false),
    }
    permits: Count {
        read: |word, input| Count::parse(&word.text, 1..=MOST_PERMITS, input.parse()?),
        example: "permits = 5",
        meaning: "how many may be inside",
        elsewhere: "limit concurrency maxconcurrency maxconcurrent count max permit slots size",
        refused: &[
            (&[Mutex], "a mutex has a single permit: leave `permits` out, or use `#[auto_semaphore(permits = 5)]`"),
            (&[Leader], "there is one leader: leave `permits` out, or for several workers use `#[auto_semaphore(permits = 5)]`"),
            (&[Read, Write], "a readers-writer lock does not count permits: leave `permits` out, or use `#[auto_semaphore(permits = 5)]`"),
        ],
        required: Some((Semaphore, "`#[auto_semaphore]` needs the number of permits: write `#[auto_semaphore(permits = 5)]`")),
    }
    /// The name of the guard in the body.
    guard: Ident {
        read: read::guard,
        example: "guard = lock",
        meaning: "the name of the guard in the body",
        elsewhere: "token fencing fencingtoken handle",
        refused: &[(&[Leader], "the body gets its term as a parameter, which callers do not see: add `term: &Term` to the function")],
    }
    value: Vec<Part> {
        read: |_, input| read::value(input.parse()?),
        example: "value = \"{self.addr}\"",
        meaning: "what watchers learn about the leader",
        elsewhere: "identity holderidentity address addr",
        refused: ONLY_LEADER,
    }
    stop_within: Length {
        read: |word, input| Length::parse(&word.text, Least::Milliseconds(1), input.parse()?),
        example: "stop_within = 5",
        meaning: "how long a body may take to end after its term",
        elsewhere: "grace graceperiod stoptimeout renewdeadline",
        refused: ONLY_LEADER,
    }
    progress: Length {
        read: |word, input| Length::parse(&word.text, Least::Milliseconds(1), input.parse()?),
        example: "progress = 60",
        meaning: "how long a leader may go without `term.progress()`",
        elsewhere: "progresswithin livenesstimeout hangtimeout",
        refused: ONLY_LEADER,
    }
    /// The variant of `Overrun`.
    on_overrun: Ident {
        read: |_, input| read::overrun(input.parse()?),
        example: "on_overrun = abort",
        meaning: "what happens if the body does not end within `stop_within`",
        elsewhere: "onoverdue onstuck",
        refused: ONLY_LEADER,
    }
    client: Expr {
        read: |_, input| input.parse(),
        example: "client = self.locks",
        meaning: "the client to use",
        elsewhere: "redis store connection conn pool url backend manager provider",
    }
    runtime as "crate": Path {
        read: read::path,
        example: "crate = ::my_crate::auto_mutex",
    }
    /// Only the marked functions of a block are protected.
    explicit: () {
        read: |_, _| Ok(()),
        example: "explicit",
        refused: &[(&[Leader], "a leader is one function: leave `explicit` out")],
        of_blocks: Some("`explicit` is for `impl` and `trait` blocks: leave it out"),
    }
}

/// The row of the option that `word` names, directly or as an alias.
pub(super) fn row(word: &str) -> Option<&'static Row> {
    let is_named = |row: &&Row| row.name == word || !row.alias.is_empty() && row.alias == word;
    TABLE.iter().find(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_begins_its_example_and_names_other_rows() {
        for line in TABLE {
            assert!(line.example.starts_with(line.name), "{}", line.name);
            let others = line.clashes.iter().chain(line.clashes_across);
            for (other, _) in others.chain(&line.needs) {
                assert!(row(other).is_some(), "{} names {other}", line.name);
            }
        }
    }
}
