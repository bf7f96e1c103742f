//! Times, processes and sites, formatted for people.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use auto_mutex::operator::Lock;
use auto_mutex::{Holder, LockKind};
use ratatui::text::Span;

/// A duration: `350ms`, `58s`, `2m13s`, `3h05m`, `2d04h`.
pub(crate) fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// How long a server still grants nothing after a restart or a failover.
pub(crate) fn closed_for(left: Duration) -> String {
    format!(
        "grants nothing for another {}: it was restarted or has taken over, and locks from before may still be held",
        short(left + Duration::from_millis(999))
    )
}

/// A time as in RFC 3339, with milliseconds.
pub(crate) fn date(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// Escapes characters in foreign text that could control the terminal.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return text.into();
    }
    let shown = text.chars().map(|c| match is_unsafe(c) {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    });
    shown.collect::<String>().into()
}

/// A lock's name as its program wrote it: non-ASCII letters are unescaped if the locale has them. All other escapes
/// remain, including those of characters that are invisible or change the direction of text. Every command also accepts
/// names in this form.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    static SHOWS_LETTERS: LazyLock<bool> = LazyLock::new(|| {
        let mut set = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .filter_map(std::env::var_os);
        let locale = set.find(|value| !value.is_empty()).unwrap_or_default();
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    match *SHOWS_LETTERS {
        true => readable(name),
        false => name.into(),
    }
}

/// Like [`name`], for a terminal that can show every letter.
pub(crate) fn readable(name: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = name;
    while let Some(at) = rest.find('%') {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let (letter, length) =
            letter(rest).map_or(('%', 1), |letter| (letter, letter.len_utf8() * 3));
        shown.push(letter);
        rest = &rest[length..];
    }
    if rest.len() == name.len() {
        return name.into();
    }
    (shown + rest).into()
}

/// The letter with whose escape `text` begins.
fn letter(text: &str) -> Option<char> {
    let bytes = text.as_bytes().chunks(3).map_while(|escape| match escape {
        [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            u8::from_str_radix(std::str::from_utf8(&escape[1..]).ok()?, 16).ok()
        }
        _ => None,
    });
    let bytes: Vec<u8> = bytes.take(4).collect();
    let first = bytes.utf8_chunks().next()?.valid().chars().next()?;
    let is_visible = Span::raw(first.to_string()).width() > 0;
    (!first.is_ascii() && first.is_alphanumeric() && is_visible && !is_confusing(first))
        .then_some(first)
}

/// Right-to-left letters, which reorder their neighbours, and fillers, which are invisible.
fn is_confusing(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Quotes a name as one shell word, because parts of it may be user input.
pub(crate) fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// Whether the character is a control character, or changes the direction of text.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A holder or waiter; `None` if another program wrote its record.
pub(crate) type Who = Option<Holder>;

/// `web-3:4711`, or `shop/web-x2x8q:4711` for a pod whose name differs from the host's.
pub(crate) fn process(who: &Who) -> String {
    let Some(who) = who else {
        return "unknown".to_owned();
    };
    let machine = who.pod.as_ref().unwrap_or(&who.host);
    format!("{}:{}", clean(machine), who.pid)
}

/// Like [`process`], with both the pod and the host: `shop/web-x2x8q:4711 on node-1`
pub(crate) fn process_and_host(who: &Who) -> String {
    match who {
        Some(Holder {
            pod: Some(_), host, ..
        }) => format!("{} on {}", process(who), clean(host)),
        _ => process(who),
    }
}

/// Who broke a hold of the lock, and when.
pub(crate) fn kicked(lock: &Lock) -> Option<String> {
    let kick = lock.kicked.as_ref()?;
    let ago = lock.asked.duration_since(kick.at).unwrap_or_default();
    let (token, by) = (kick.token, location(&kick.by));
    let on = process_and_host(&kick.by);
    Some(format!(
        "The hold with token {token} was broken {} ago by {by} ({on}).",
        short(ago)
    ))
}

/// How many waiters these locks have, without the standbys of leaders.
pub(crate) fn waiting(locks: &[Lock]) -> u64 {
    let locks = locks.iter().filter(|lock| !lock.is_seat());
    locks.map(Lock::waiting).sum()
}

/// The oldest holder, and how many others there are: `web-3:4711 +2`
pub(crate) fn holders(lock: &Lock) -> String {
    match &*lock.holders {
        [] => "-".to_owned(),
        [only] => process(&only.who),
        [first, others @ ..] => format!("{} +{}", process(&first.who), others.len()),
    }
}

/// All that hold the lock, then all that wait for it.
pub(crate) fn processes(lock: &Lock) -> impl Iterator<Item = &Who> {
    let holders = lock.holders.iter().map(|hold| &hold.who);
    holders.chain(lock.waiters.iter().map(|wait| &wait.who))
}

/// Whether this text in lower case occurs in the name of the lock, as it is or as displayed, or in a process that holds
/// it or waits for it.
pub(crate) fn has_text(lock: &Lock, text: &str) -> bool {
    lock.name.to_lowercase().contains(text)
        || readable(&lock.name).to_lowercase().contains(text)
        || processes(lock).any(|who| process_and_host(who).to_lowercase().contains(text))
}

/// How long the lock has been held: `2m13s`, or `kept` if its process keeps it between calls.
pub(crate) fn held(lock: &Lock) -> String {
    match lock.held() {
        Some(held) => short(held),
        None if lock.is_kept() => "kept".to_owned(),
        None => "-".to_owned(),
    }
}

/// `billing::Ledger::close at src/ledger.rs:17`
pub(crate) fn location(who: &Who) -> String {
    who.as_ref()
        .map_or_else(String::new, |who| clean(&who.site).into_owned())
}

/// The used units: `2/5`, or for a readers-writer lock the number of readers or `writer`.
pub(crate) fn used(kind: Option<LockKind>, used: u64, capacity: Option<u32>) -> String {
    match (kind, capacity) {
        (Some(LockKind::RwLock), Some(capacity)) if used >= u64::from(capacity) => {
            "writer".to_owned()
        }
        (Some(LockKind::RwLock), _) if used == 1 => "1 reader".to_owned(),
        (Some(LockKind::RwLock), _) => format!("{used} readers"),
        (Some(LockKind::Condvar), _) | (_, None) => "-".to_owned(),
        (_, Some(capacity)) => format!("{used}/{capacity}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (millis, text) in [
            (0, "0ms"),
            (350, "350ms"),
            (58_900, "58s"),
            (133_000, "2m13s"),
            (11_100_000, "3h05m"),
            (187_200_000, "2d04h"),
        ] {
            assert_eq!(short(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn a_process_is_named_by_its_pod_if_it_has_one() {
        assert_eq!(process(&None), "unknown");
        let store = "memory://a-process-is-named";
        let client = auto_mutex::Client::connect(store).unwrap();
        let held = client.mutex("m").blocking_lock().unwrap();
        let mut who = client.mutex("m").blocking_info().unwrap().holders.remove(0);
        drop(held);
        (who.host, who.pid, who.pod) = ("node-1".to_owned(), 7, None);
        let mut who = Some(who);
        assert_eq!(process(&who), "node-1:7");
        assert_eq!(process_and_host(&who), "node-1:7");
        who.as_mut().unwrap().pod = Some("shop/web-x2x8q".to_owned());
        assert_eq!(process(&who), "shop/web-x2x8q:7");
        assert_eq!(process_and_host(&who), "shop/web-x2x8q:7 on node-1");
    }

    #[test]
    fn nothing_from_elsewhere_drives_the_terminal() {
        assert_eq!(clean("web-3"), "web-3");
        assert_eq!(clean("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("a\u{202e}b\n"), "a\\u{202e}b\\u{a}");
    }

    #[test]
    fn letters_are_read_and_nothing_that_deceives() {
        for (name, shown) in [
            ("orders:7", "orders:7"),
            ("caf%C3%A9:%E6%97%A5%E6%9C%AC", "café:日本"),
            ("a%20%C3%9F%3Ax%25", "a%20ß%3Ax%25"),
            // A right-to-left letter, its mark, an override, a filler, a zero-width joiner, a mark without a letter.
            ("%D7%90", "%D7%90"),
            ("%E2%80%8F", "%E2%80%8F"),
            ("%E2%80%AE", "%E2%80%AE"),
            ("%E3%85%A4", "%E3%85%A4"),
            ("%E2%80%8D", "%E2%80%8D"),
            ("%CC%81", "%CC%81"),
            ("%C2%85%C2%A0", "%C2%85%C2%A0"),
            // Not UTF-8, cut off, or no escape at all.
            ("%C3%28%C3", "%C3%28%C3"),
            ("%C3%A", "%C3%A"),
            ("n:%condvar", "n:%condvar"),
            ("%", "%"),
        ] {
            assert_eq!(readable(name), shown);
        }
    }

    #[test]
    fn a_name_is_one_word_of_a_shell() {
        assert_eq!(quoted("orders:7"), "'orders:7'");
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("printf %s {}", quoted("a';echo b;'$(c)"))])
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"a';echo b;'$(c)");
    }

    #[test]
    fn what_is_used_is_said_in_the_words_of_its_kind() {
        let rw = 1 << 30;
        for (kind, in_use, capacity, text) in [
            (LockKind::Mutex, 1, 1, "1/1"),
            (LockKind::Semaphore, 2, 5, "2/5"),
            (LockKind::RwLock, 1, rw, "1 reader"),
            (LockKind::RwLock, 3, rw, "3 readers"),
            (LockKind::RwLock, u64::from(rw), rw, "writer"),
            (LockKind::Condvar, 0, 0, "-"),
        ] {
            assert_eq!(used(Some(kind), in_use, Some(capacity)), text);
        }
        assert_eq!(used(None, 0, None), "-");
    }
}
