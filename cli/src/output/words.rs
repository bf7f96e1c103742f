//! Times, processes and sites, for people to read.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use auto_mutex::{Holder, LockKind};

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

/// Of a server after a restart or a failover.
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

/// Escapes the characters of foreign text that could control the terminal.
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

/// Quotes a name as one word of a shell, because a part of the name may be the input of a user.
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

/// `web-3:4711`, or for a process with a pod that differs from its host: `shop/web-x2x8q:4711`
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

/// `billing::Ledger::close at src/ledger.rs:17`
pub(crate) fn place(who: &Who) -> String {
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
