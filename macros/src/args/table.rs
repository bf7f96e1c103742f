//! The table of all options. An option's row has everything about it.

use proc_macro2::{Ident, Span};
use syn::parse::ParseStream;
use syn::{Expr, LitStr, Path, Result};

use super::key::Part;
use super::read::{self, FIXED, REASON};
use super::row::{ROW, Row, Shape, Value, table};
use super::{Count, Given, Handler, Key, Keys, Length, Was};
use crate::kind::Kind::{self, Leader, Mutex, Read, Semaphore, Test, Write};

/// The shortest `expire` in milliseconds, below which a hold would end before it could be used. The runtime has the
/// same limit.
const EXPIRE: u32 = 10;

/// The most permits. The next number is the capacity that marks a readers-writer lock.
const MOST_PERMITS: u32 = (1 << 30) - 1;

const NO_MUTEX: &[Kind] = &[Semaphore, Read, Write, Leader];
const ONLY_LEADER: &[(&[Kind], &str)] = &[(
    &[Mutex, Semaphore, Read, Write],
    "`{}` is for leaders: leave it out, or use `#[auto_leader]`",
)];

const ON_ERROR_OF_LEADER: &str = "the return type carries the error: leave `on_error` out, or write `on_error = again` to stand again after an error of the body";
const ON_LOST: &str = "`on_lost` is `cancel` (stop the body at its next await), `fail` (and return the loss, even if the body has ended) or `finish` (let it run on)";
const ON_OVERRUN: &str =
    "`on_overrun` is `abort` (end the process before another can lead) or `log` (report it)";

table! {
    expire: Length {
        read: |given, input| Length::parse(given, EXPIRE, input.parse()?),
        example: "expire = 100",
        refused: &[(&[Leader], "a leader leads until its term ends: leave `{}` out; with `progress = 60`, a leader that hangs gives the lead up")],
    }
    block: Length {
        read: |given, input| Length::parse(given, 0, input.parse()?),
        example: "block = 10",
        refused: &[(&[Leader], "a standby waits until it leads: leave `{}` out")],
    }
    at_least: Length {
        read: |given, input| Length::parse(given, 1, input.parse()?),
        example: "at_least = 60",
        refused: &[(&[Leader], "the next leader takes over as soon as the body has ended: leave `{}` out")],
    }
    retain: Length {
        read: |given, input| Length::parse(given, 0, input.parse()?),
        example: "retain = 1",
        refused: &[
            (&[Semaphore, Read], "only the lock of a single holder can be kept: leave `{}` out, or use `#[auto_mutex]` or `#[auto_write]`"),
            (&[Leader], "a lead that was given up goes to the next standby: leave `{}` out"),
        ],
        clashes: &[
            ("keys", "several locks at once are not kept: leave out `retain`"),
            ("was", "with `was`, the call takes two locks, and these are not kept: leave out `retain`"),
            ("owner", "a lock with an `owner` is not kept: leave out `retain`"),
        ],
        is_default: |kind, _| matches!(kind, Mutex | Write),
    }
    retries: Count {
        read: |given, input| Count::parse(given, 0..=u32::MAX, input.parse()?),
        example: "retries = 3",
        clashes: &[("block", "`retries` polls instead of waiting in the queue for `block`: leave out one of them")],
        refused: &[(&[Leader], "standbys wait in the queue, without polling: leave `{}` out")],
    }
    interval: Length {
        read: |given, input| Length::parse(given, 1, input.parse()?),
        example: "interval = 0.01",
        needs: Some(("retries", "`interval` is the time between `retries`: say how many, as in `retries = 3`")),
        refused: &[(&[Leader], "standbys wait in the queue, without polling: leave `{}` out")],
    }
    max_waiters: Count {
        read: |given, input| Count::parse(given, 1..=u32::MAX, input.parse()?),
        example: "max_waiters = 100",
        refused: &[(&[Leader], "standbys are never too many: leave `{}` out")],
    }
    on_timeout: Handler {
        read: |given, input| Handler::parse(given, input.parse()?),
        example: "on_timeout = Self::busy",
        refused: &[(&[Leader], "a standby waits without a limit: leave `{}` out")],
    }
    /// Whether a leader stands again after an error of its body.
    again as "on_error": Ident {
        read: |_, input| read::one_of(&input.parse()?, &["again"], ON_ERROR_OF_LEADER),
        example: "on_error = again",
        is_of: |kind| kind == Leader,
    }
    on_error: Handler {
        read: |given, input| Handler::parse(given, input.parse()?),
        example: "on_error = Self::failed",
        is_of: |kind| !matches!(kind, Leader | Test),
        refused: &[(&[Leader], "the return type carries the error: leave `{}` out")],
    }
    /// `cancel` or `finish`.
    on_lost: Ident {
        read: |_, input| read::one_of(&input.parse()?, &["cancel", "fail", "finish"], ON_LOST),
        example: "on_lost = finish",
        refused: &[(&[Leader], "a body whose term is lost is cancelled: leave `{}` out; `stop_within = 5` is how long it may take to end")],
    }
    ns: LitStr {
        read: |given, input| read::fixed(given, &input.parse()?),
        alias: "namespace",
        example: "ns = \"billing\"",
    }
    name: LitStr {
        read: |given, input| read::fixed(given, &input.parse()?),
        example: "name = \"close-month\"",
        // A lock of another kind cannot have the same name.
        is_default: Kind::shares_locks_with,
    }
    key: Key {
        read: |_, input| Key::parse(input.parse()?),
        example: "key = \"{id}\"",
    }
    keys: Keys {
        read: |_, input| Keys::parse(input.parse()?),
        example: "keys = [from, to]",
        refused: &[(NO_MUTEX, "`{}` takes several mutexes at once, so it is for `#[auto_mutex]`: name a single lock with `key`")],
        clashes: &[("key", "`key` is one lock and `keys` are several: put all of them into `keys`")],
    }
    was: Was {
        read: |given, input| Was::parse(&read::literal(given, &input.parse()?, FIXED)?),
        example: "was = \"{namespace}:Ledger:close\"",
        refused: &[(NO_MUTEX, "`{}` also takes the mutex of an old name, so it is for `#[auto_mutex]`: to keep the old name, write `name = \"…\"`")],
    }
    owner: Expr {
        read: |_, input| read::owner(input.parse()?),
        example: "owner = session.id",
        refused: &[(NO_MUTEX, "only a mutex has an owner, so `{}` is for `#[auto_mutex]`: leave it out")],
        clashes_across: &[
            ("keys", "`owner` is for a single mutex, and `keys` takes several: leave out one of them"),
            ("was", "`owner` is for a single mutex, and `was` takes several: leave out one of them"),
        ],
    }
    /// Why the order of the function's locks is intended.
    order: LitStr {
        read: |given, input| read::literal(given, &input.parse()?, REASON),
        example: "order = \"accounts before ledger\"",
    }
    reentrant: bool {
        read: |given, input| read::flag(given, &input.parse()?),
        example: "reentrant = false",
        refused: &[(&[Leader], "a leader cannot stand again inside its own body: leave `{}` out")],
        clashes: &[("owner", "calls of one `owner` share the lock, and `reentrant = false` forbids it: leave out one of them")],
        clashes_if: |options| options.reentrant == Some(false),
    }
    permits: Count {
        read: |given, input| Count::parse(given, 1..=MOST_PERMITS, input.parse()?),
        example: "permits = 5",
        refused: &[
            (&[Mutex], "a mutex has a single permit: leave `{}` out, or use `#[auto_semaphore(permits = 5)]`"),
            (&[Leader], "there is one leader: leave `{}` out, or for several workers use `#[auto_semaphore(permits = 5)]`"),
            (&[Read, Write], "a readers-writer lock does not count permits: leave `{}` out, or use `#[auto_semaphore(permits = 5)]`"),
        ],
        required: Some((Semaphore, "`#[auto_semaphore]` needs the number of permits: write `#[auto_semaphore(permits = 5)]`")),
    }
    /// The name of the guard in the body.
    guard: Ident {
        read: read::guard,
        example: "guard = lock",
        refused: &[(&[Leader], "instead of `{}`, the body gets its term as a parameter, which callers do not see: add `term: &Term` to the function")],
    }
    value: Vec<Part> {
        read: |_, input| read::value(input.parse()?),
        example: "value = \"{self.addr}\"",
        refused: ONLY_LEADER,
    }
    stop_within: Length {
        read: |given, input| Length::parse(given, 1, input.parse()?),
        example: "stop_within = 5",
        refused: ONLY_LEADER,
        clashes: &[("on_overrun", "with `on_overrun = abort`, `stop_within` is at least \"100ms\": give more, or leave `on_overrun` out")],
        clashes_if: read::stops_too_soon,
    }
    progress: Length {
        read: |given, input| Length::parse(given, 1, input.parse()?),
        example: "progress = 60",
        refused: ONLY_LEADER,
    }
    /// `abort` or `log`.
    on_overrun: Ident {
        read: |_, input| read::one_of(&input.parse()?, &["abort", "log"], ON_OVERRUN),
        example: "on_overrun = abort",
        refused: ONLY_LEADER,
    }
    client: Expr {
        read: |_, input| input.parse(),
        example: "client = self.locks",
    }
    runtime as "crate": Path {
        read: read::path,
        example: "crate = ::my_crate::auto_mutex",
        is_of: |_| true,
    }
    /// Only the marked functions of a block are protected.
    explicit: () {
        read: |_, _| Ok(()),
        example: "explicit",
        refused: &[(&[Leader], "a leader is one function: leave `{}` out")],
        of_blocks: Some("`explicit` is for `impl` and `trait` blocks: leave it out"),
    }
    seeds: Expr {
        read: |given, input| {
            let seeds: Expr = input.parse()?;
            Count::parse(given, 1..=u32::MAX, seeds.clone())?;
            Ok(seeds)
        },
        example: "seeds = 100",
        is_of: |kind| kind == Test,
    }
    /// Whether two runs of a seed are compared.
    repeatable: bool {
        read: |given, input| read::flag(given, &input.parse()?),
        example: "repeatable = false",
        is_of: |kind| kind == Test,
    }
    /// Whether a failing test looks for a shorter run that fails.
    shrink: () {
        read: |_, _| Ok(()),
        example: "shrink",
        is_of: |kind| kind == Test,
    }
}

/// The row of the option that `word` names, directly or as an alias, among those that are `wanted`.
pub(super) fn row(word: &str, wanted: impl Fn(&Row) -> bool) -> Option<&'static Row> {
    let is_named = |row: &&Row| row.name == word || !row.alias.is_empty() && row.alias == word;
    TABLE.iter().filter(is_named).find(|row| wanted(row))
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
                assert!(
                    row(other, |_| true).is_some(),
                    "{} names {other}",
                    line.name
                );
            }
        }
    }
}
