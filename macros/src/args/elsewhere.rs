//! Words from other libraries, and the options of this library that replace them.

use super::word::{example, misplaced};
use crate::kind::Kind;

/// The words, in lower case and without underscores, and the options that each of them may mean.
const MEANT: &[(&str, &[&str])] = &[
    ("timeout", &["block", "expire"]),
    (
        "wait waittimeout waittime waitfor maxwait maxwaittime acquiretimeout acquisitiontimeout blocking blockingtimeout \
         blockfor trylock nonblocking nowait patience deadline",
        &["block"],
    ),
    (
        "ttl hold holdfor maxhold maxholdtime lockatmostfor atmost leasetime leaseduration locktimeout locktime lockttl \
         lockduration duration expires expiresin expiresafter expireafter expiry expiration ex px autorelease \
         autoreleasetime maxduration validity visibilitytimeout",
        &["expire"],
    ),
    (
        "lockatleastfor minhold minholdtime holdatleast minduration",
        &["at_least"],
    ),
    (
        "retry retrytimes backoff retrystrategy",
        &["retries", "block"],
    ),
    (
        "retrycount maxretries maxretry attempts maxattempts tries",
        &["retries"],
    ),
    (
        "retrydelay retryinterval retrywait retryafter delay sleep pollinterval polldelay",
        &["interval"],
    ),
    ("id resource lock lockname mutex", &["key", "name"]),
    ("by per lockkey keyexpression hash args", &["key"]),
    ("multi locks ids resources multiple", &["keys"]),
    (
        "prefix keyprefix group env environment tenant realm",
        &["ns"],
    ),
    (
        "fallback onbusy onlocked onconflict oncontention onfail onfailure orelse otherwise default skip ifbusy iflocked",
        &["on_timeout"],
    ),
    ("error onerr err errorhandler failure", &["on_error"]),
    ("onloss cancel onexpire onexpired", &["on_lost"]),
    (
        "previous previousname previously oldname formerly renamedfrom",
        &["was"],
    ),
    ("ownerid session caller", &["owner"]),
    (
        "reentry recursive recursion nested reentrancy",
        &["reentrant"],
    ),
    (
        "limit concurrency maxconcurrency maxconcurrent count max permit slots size",
        &["permits"],
    ),
    ("token fencing fencingtoken handle", &["guard"]),
    (
        "redis store connection conn pool url backend manager provider",
        &["client"],
    ),
];

/// Words without a matching option, and the hint for each of them.
const NOWHERE: &[(&str, &str)] = &[
    (
        "lease leasems",
        "the lease is set once, by `Config::lease`; `expire = …` is how long to hold at most",
    ),
    (
        "renew autorenew renewal extend autoextend refresh autorefresh watchdog heartbeat keepalive",
        "a held lock is always renewed in the background: leave it out; `expire = …` is how long to hold at most",
    ),
    (
        "fair fairness queue",
        "waiting calls get the lock in order of arrival: leave it out",
    ),
    (
        "scope",
        "`client = …` takes another client, `key = …` makes a lock per value",
    ),
];

/// The meaning of each option that [`MEANT`] names, for the hint.
const MEANINGS: &[(&str, &str)] = &[
    ("expire", "how long to hold at most"),
    ("block", "how long to wait"),
    ("at_least", "how long to hold at least"),
    (
        "retries",
        "how often to ask again, without a place in the queue",
    ),
    ("interval", "the time between `retries`"),
    ("on_timeout", "what to return without the lock"),
    ("on_error", "what to return on any other error of the lock"),
    ("on_lost", "what becomes of the body when the lock is lost"),
    ("ns", "the first part of the name"),
    ("name", "the lock's name"),
    ("key", "a lock per value"),
    ("keys", "several locks at once"),
    ("was", "the old name, of which the lock is taken too"),
    ("owner", "who holds it, instead of the task"),
    (
        "reentrant",
        "whether a nested call shares the lock of its task",
    ),
    ("permits", "how many may be inside"),
    ("guard", "the name of the guard in the body"),
    ("client", "the client to use"),
];

/// A hint for `word`: the option to write instead, or the reason why there is none. `None` if the word is unknown.
pub(super) fn hint(word: &str, kind: Kind) -> Option<String> {
    let plain = word.replace('_', "").to_lowercase();
    let is_in = |words: &str| words.split(' ').any(|known| known == plain);
    if let Some((_, why)) = NOWHERE.iter().find(|(words, _)| is_in(words)) {
        return Some((*why).to_owned());
    }
    let (_, options) = MEANT.iter().find(|(words, _)| is_in(words))?;
    if let [option] = options
        && let Some(misplaced) = misplaced(option, kind)
    {
        return Some(format!("that is `{option}` here, but {misplaced}"));
    }
    let meaning = |option: &&str| {
        let (_, meaning) = MEANINGS.iter().find(|(known, _)| known == option)?;
        Some(format!("`{}`, {meaning}", example(option)?))
    };
    let options: Vec<_> = options.iter().filter_map(meaning).collect();
    Some(format!("did you mean {}?", options.join(", or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_there_once_and_means_an_option_that_exists() {
        for (_, options) in MEANT {
            for option in *options {
                assert!(example(option).is_some(), "{option} has no example");
                let has_meaning = MEANINGS.iter().any(|(known, _)| known == option);
                assert!(has_meaning, "{option} has no meaning");
            }
        }
        let words = MEANT.iter().map(|(words, _)| words);
        let words = words.chain(NOWHERE.iter().map(|(words, _)| words));
        let words: Vec<&str> = words.flat_map(|words| words.split(' ')).collect();
        for (i, word) in words.iter().enumerate() {
            assert!(!words[..i].contains(word), "{word} is there twice");
            assert!(example(word).is_none(), "{word} is an option");
            let is_plain = word.chars().all(|c| c.is_ascii_lowercase());
            assert!(is_plain && !word.is_empty(), "{word:?} is never found");
        }
    }

    #[test]
    fn a_word_is_known_however_it_is_spelled() {
        for word in ["lock_at_most_for", "lockAtMostFor", "LOCK_AT_MOST_FOR"] {
            assert_eq!(
                hint(word, Kind::Mutex).as_deref(),
                Some("did you mean `expire = 100`, how long to hold at most?")
            );
        }
        assert_eq!(hint("expire", Kind::Mutex), None);
    }
}
