//! The requester (holder or waiter), as text in the store.
//!
//! Three escaped words: machine, process id, site (with `+` for a space, and colons); then the permits of a semaphore,
//! the owner or a leader's value, and the locks of the task, if any. The machine is the host, followed by a comma and
//! the pod if it differs. (Host names contain no comma. Clients unaware of pods take the whole word for the host.)

use std::time::{Duration, SystemTime};

use super::{HolderRecord, SharedStr, TicketRecord};
use crate::base::error::{HoldKind, Holder, LockKind};
use crate::base::name::{Name, escape, escape_site, unescape, unescape_site};

/// Limits of the locks listed for a task: how many, and how many bytes their names take. They keep the record of a
/// ticket small.
const MOST_HELD: usize = 8;
const MOST_BYTES: usize = 1024;

/// Returns the first word, the machine.
pub fn machine(host: &str, pod: Option<&str>) -> String {
    let host = escape(host);
    match pod {
        Some(pod) => format!("{host}{POD}{}", escape(pod)),
        None => host.to_string(),
    }
}

/// Splits the result of [`machine`].
pub fn host_and_pod(machine: &str) -> (String, Option<String>) {
    match machine.split_once(POD) {
        Some((host, pod)) => (unescape(host), Some(unescape(pod))),
        None => (unescape(machine), None),
    }
}

/// Writes a record without an owner or locks. `machine` is a result of [`machine`].
pub fn write(machine: &str, pid: u32, site: &str) -> SharedStr {
    format!("{machine} {pid} {}", escape_site(site)).into()
}

/// Appends how many permits the program gives the semaphore.
pub fn permitted(meta: &str, permits: u32) -> SharedStr {
    format!("{meta}{PERMITS}{permits}").into()
}

/// How many permits the program of the requester gives the semaphore; `None` for other locks.
pub fn permits(meta: &str) -> Option<u32> {
    after(meta, PERMITS)?.parse().ok()
}

/// Appends an owner to `meta`.
pub fn owned(meta: &str, owner: &str) -> SharedStr {
    format!("{meta}{OWNER}{}", escape(owner)).into()
}

/// Appends the value that a leader publishes.
pub fn leading(meta: &str, value: &str) -> SharedStr {
    format!("{meta}{LEADS}{}", escape(value)).into()
}

/// Returns `meta` for a task that holds the locks `names`, within `MOST_HELD` and `MOST_BYTES`. They replace locks that
/// `meta` lists already.
pub fn holding(meta: &SharedStr, names: &[Name]) -> SharedStr {
    let (location, keyed) = parts(meta);
    let known = keyed.find(HOLDS).unwrap_or(keyed.len());
    let mut text = meta[..location.len() + known].to_owned();
    let ends = text.len() + MOST_BYTES;
    for name in names.iter().take(MOST_HELD) {
        if text.len() + HOLDS.len() + name.as_str().len() > ends {
            break;
        }
        text.push_str(HOLDS);
        text.push_str(name.as_str());
    }
    text.into()
}

/// Returns `meta` without the owner and the locks of the task. All calls of one site in one process have this part in
/// common.
pub fn location(meta: &str) -> &str {
    parts(meta).0
}

/// Splits off the words with keys. A site may look like one of them.
fn parts(meta: &str) -> (&str, &str) {
    let end = meta.match_indices(' ').nth(2);
    meta.split_at(end.map_or(meta.len(), |(end, _)| end))
}

/// Reads the requester from a holder's record; `None` if another program wrote it.
pub fn read(record: &HolderRecord) -> Option<Holder> {
    since(&record.meta, record.token)
}

fn since(meta: &str, token: u64) -> Option<Holder> {
    let caller = caller(meta)?;
    // Fast grants bring the token ahead of the clock, because each raises it by at least a microsecond.
    let since = time_of(token).min(SystemTime::now());
    Some(Holder { since, ..caller })
}

/// Like [`read`], without the time.
pub fn caller(meta: &str) -> Option<Holder> {
    let mut words = meta.split(' ');
    let (host, pod) = host_and_pod(words.next()?);
    let pid = words.next()?.parse().ok()?;
    let site = unescape_site(words.next()?);
    // Skips words with unknown keys, which later versions write.
    if !words.all(|word| word.contains(':')) {
        return None;
    }
    Some(Holder {
        host,
        pod,
        pid,
        site,
        since: SystemTime::UNIX_EPOCH,
        owner: owner(meta),
        kind: None,
        units: None,
        permits: permits(meta),
        holds: held(meta).map(str::to_owned).collect(),
    })
}

/// The locks that the task holds.
pub fn held(meta: &str) -> impl Iterator<Item = &str> {
    let words = parts(meta).1.split(HOLDS).skip(1);
    words.map(|word| word.split(' ').next().unwrap_or(word))
}

/// Like [`read`], but with the kind and the units of the hold that the ticket has or waits for. `capacity` is that of
/// the name.
pub fn describe(ticket: &TicketRecord, capacity: u32) -> Option<Holder> {
    let holder = since(&ticket.meta, ticket.since)?;
    let kind = match after(&ticket.meta, LEADS) {
        Some(_) => HoldKind::Leader,
        None => HoldKind::of(LockKind::of(capacity, ticket.takes), ticket.units),
    };
    Some(Holder {
        kind: Some(kind),
        units: Some(ticket.units),
        ..holder
    })
}

/// The owner in `meta`.
pub fn owner(meta: &str) -> Option<String> {
    after(meta, OWNER).map(unescape)
}

/// The value that a leader or a standby publishes; `None` for other callers.
pub fn leads(meta: &str) -> Option<String> {
    after(meta, LEADS).map(unescape)
}

/// Converts a time of the store, in microseconds.
pub fn time_of(micros: u64) -> SystemTime {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(micros));
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The rest of the word that starts with `mark`.
fn after<'a>(meta: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = parts(meta).1.split_once(mark)?;
    rest.split(' ').next()
}

/// The separator before a pod.
const POD: char = ',';
/// The separator before the permits of a semaphore.
const PERMITS: &str = " permits:";
/// The separator before an owner. Escaped words contain neither colons nor spaces.
const OWNER: &str = " owner:";
/// The separator before the value of a leader.
const LEADS: &str = " lead:";
/// The separator before a lock that the task holds. A name contains no space.
const HOLDS: &str = " holds:";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::meta;

    fn read(meta: SharedStr) -> Option<Holder> {
        meta::read(&HolderRecord { token: 1, meta })
    }

    fn names(names: &[&str]) -> Vec<Name> {
        names.iter().map(|name| Name::from_escaped(name)).collect()
    }

    #[test]
    fn a_pod_comes_with_its_host_and_costs_others_nothing() {
        for (pod, words) in [
            (None, "node-1 7 f+at+x"),
            (Some("prod/books-x2x8q"), "node-1,prod/books-x2x8q 7 f+at+x"),
        ] {
            let machine = meta::machine("node-1", pod);
            let meta = meta::write(&machine, 7, "f at x");
            assert_eq!(&*meta, words);
            let holder = read(meta).unwrap();
            assert_eq!((&*holder.host, holder.pod.as_deref()), ("node-1", pod));
            assert_eq!((holder.pid, &*holder.site), (7, "f at x"));
            let meta = meta::owned(&meta::write(&machine, 7, "f"), "me");
            let holder = read(meta::holding(&meta, &names(&["n:a,b"]))).unwrap();
            assert_eq!(holder.pod.as_deref(), pod);
            assert_eq!(holder.owner.as_deref(), Some("me"));
            assert_eq!(holder.holds, ["n:a,b"]);
        }
    }

    #[test]
    fn strange_machines_do_no_harm() {
        let machine = meta::machine("a b:c", Some("x, y"));
        let holder = read(meta::write(&machine, 7, "f")).unwrap();
        assert_eq!(
            (&*holder.host, holder.pod.as_deref()),
            ("a b:c", Some("x, y"))
        );
    }

    #[test]
    fn a_site_is_short_and_comes_back_as_it_was() {
        for (site, written) in [
            ("a::b at src/b.rs:41", "a::b+at+src/b.rs:41"),
            ("a + b%20", "a+%2B+b%2520"),
            (
                "owner:x lead:y permits:3 holds:n at z",
                "owner:x+lead:y+permits:3+holds:n+at+z",
            ),
            ("\u{e9} {}\n", "%C3%A9+%7B%7D%0A"),
            (" ", "+"),
        ] {
            let meta = meta::write("h", 1, site);
            assert_eq!(&*meta, format!("h 1 {written}"));
            let caller = meta::caller(&meta).unwrap();
            assert_eq!((&*caller.site, caller.owner), (site, None));
            assert_eq!((meta::leads(&meta), meta::permits(&meta)), (None, None));
            let meta = meta::holding(&meta::owned(&meta, "me"), &names(&["n:a"]));
            let caller = meta::caller(&meta::holding(&meta, &names(&["n:b"]))).unwrap();
            assert_eq!((&*caller.site, caller.owner.as_deref()), (site, Some("me")));
            assert_eq!(caller.holds, ["n:b"]);
        }
        // As other programs may write it.
        assert_eq!(meta::caller("h 1 f%20at%20x%3A1").unwrap().site, "f at x:1");
    }

    #[test]
    fn what_the_task_holds_comes_last_and_hides_nothing() {
        let plain = meta::write("host", 7, "a::b at src/b.rs:41");
        let owned = meta::owned(&plain, "night shift");
        for (meta, owner) in [(&plain, None), (&owned, Some("night shift"))] {
            let held = names(&["n:a:b", "owner:x", "lead:y,z"]);
            let meta = meta::holding(meta, &held);
            let caller = meta::caller(&meta).unwrap();
            assert_eq!(caller.holds, ["n:a:b", "owner:x", "lead:y,z"]);
            assert_eq!(caller.owner.as_deref(), owner);
            assert_eq!((caller.host.as_str(), caller.pid), ("host", 7));
            assert_eq!((caller.file(), caller.line()), (Some("src/b.rs"), Some(41)));
            assert_eq!(meta::location(&meta), &*plain);
            // New names replace the old ones.
            let again = meta::holding(&meta, &names(&["other"]));
            assert_eq!(meta::caller(&again).unwrap().holds, ["other"]);
            assert_eq!(
                meta::caller(&meta::holding(&again, &[])).unwrap().holds,
                [""; 0]
            );
        }
        assert_eq!(meta::location(&plain), &*plain);
    }

    #[test]
    fn a_record_names_eight_locks_at_most() {
        let many: Vec<String> = (0..20).map(|n| format!("n:{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let meta = meta::holding(&meta::write("h", 1, "s"), &names(&many));
        assert_eq!(meta::caller(&meta).unwrap().holds, many[..8]);
        let (long, rest) = ("n:".to_owned() + &"x".repeat(900), "n:y".repeat(50));
        let meta = meta::write("h", 1, "s");
        let meta = meta::holding(&meta, &names(&[long.as_str(), rest.as_str(), "n:z"]));
        assert_eq!(meta::caller(&meta).unwrap().holds, [long]);
    }

    #[test]
    fn nobody_holds_since_a_time_that_has_not_come() {
        let later = SystemTime::now() + Duration::from_secs(3600);
        let token = later.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let holder = meta::read(&HolderRecord {
            token: token.as_micros() as u64,
            meta: "host 1 site".into(),
        });
        assert!(holder.unwrap().since <= SystemTime::now());
    }

    #[test]
    fn words_of_a_later_version_are_left_out_and_foreign_ones_are_not_ours() {
        assert_eq!(meta::caller("h 1 s later:x").unwrap().site, "s");
        assert!(meta::caller("h 1 s x").is_none());
        assert!(meta::caller("h one s").is_none());
        assert!(meta::caller("h 1").is_none());
    }
}
