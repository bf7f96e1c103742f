//! Names of locks: `namespace:package:type:method[:key…]`, escaped so that distinct scopes never share a name. Stores
//! add their own prefix.

/// The macros' escaping of the fixed parts of a name, to compare with.
#[cfg(repository)]
#[cfg(test)]
#[path = "../../../../../macros/src/args/escape.rs"]
mod in_macros;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use auto_mutex_protocol::quorum;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::base::error::LockError;
use crate::base::sync::RandomState;

/// Marks names of condition variables. Their capacity does not, because a semaphore may have no permits, too.
pub const CONDVAR: &str = "condvar";

/// Marks the names for whose signals those wait who watch a leader.
pub const WATCHERS: &str = "watchers";

/// Marks the names for whose signals the waiters of a quorum wait.
pub const WAKE_QUEUE: &str = "wake";

/// After escaping.
pub const MAX_BYTES: usize = 1024;

/// Braces could end a key's hash tag early, spaces separate words in messages, and `%` starts an escape. (Non-ASCII
/// characters are always escaped.)
const VERBATIM: &AsciiSet = &CONTROLS.add(b'{').add(b'}').add(b'%').add(b' ');
/// For text that is already escaped.
const SHOWN: &AsciiSet = &VERBATIM.remove(b'%');
/// Within a part, the separator of parts is escaped, too.
const PART: &AsciiSet = &VERBATIM.add(b':');

/// Of a site, its colons and most of its spaces stay readable and short.
const SITE: &AsciiSet = &VERBATIM.add(b'+');

/// Escapes the place of a call: like a name's part, but with `+` for a space, and colons as they are.
pub fn escape_site(site: &str) -> String {
    utf8_percent_encode(site, SITE)
        .to_string()
        .replace("%20", "+")
}

/// The inverse of [`escape_site`], which also reads what [`escape`] writes.
pub fn unescape_site(site: &str) -> String {
    unescape(&site.replace('+', " "))
}

/// Escapes a part of a name.
pub fn escape(part: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(part, PART)
}

pub fn unescape(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// Escapes whatever a name or name pattern may not contain, except `%`.
pub fn escape_shown(text: &str) -> String {
    utf8_percent_encode(text, SHOWN).to_string()
}

/// Whether each `%` starts an escape.
pub fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// A complete, checked and escaped name. Cheap to clone and to look up, because its hash is computed once.
#[derive(Clone)]
pub struct Name {
    hash: u64,
    text: Arc<str>,
}

/// A map by name. It compares whole names, so a hash collision never makes two names share a lock.
pub type NameMap<V> = HashMap<Name, V, BuildHasherDefault<KeyHasher>>;

/// For keys that are already hashed, or random.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = self.0.rotate_left(7) ^ u64::from_ne_bytes(word);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl Eq for Name {}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl quorum::Name for Name {
    fn wake_queue(&self) -> Self {
        self.beside(WAKE_QUEUE)
    }

    fn is_wake_queue(&self) -> bool {
        self.before(WAKE_QUEUE).is_some()
    }
}

impl Name {
    fn new(text: impl Into<Arc<str>>) -> Self {
        // Seeded at random, because names may come from user input.
        static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
        let text = text.into();
        let hash = STATE.hash_one(&text);
        Self { hash, text }
    }

    /// The hash of the name, which is different in each process.
    pub fn hashed(&self) -> u64 {
        self.hash
    }

    /// `namespace:name`, or just `name`. Colons in `name`, which the user chose, separate parts.
    pub fn verbatim(namespace: Option<&str>, name: &str) -> Result<Self, LockError> {
        if name.is_empty() {
            return Err(LockError::invalid_name("", "it is empty"));
        }
        NameBuilder::verbatim_in(namespace, name).finish()
    }

    /// A name that is already escaped.
    pub fn from_escaped(name: &str) -> Self {
        Self::new(name)
    }

    /// A name from a store; `None` if it is too long or not escaped.
    pub fn parse(name: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"{}".contains(&byte);
        let fits = (1..=MAX_BYTES).contains(&name.len());
        (fits && name.bytes().all(plain)).then(|| Self::from_escaped(name))
    }

    /// A name for internal use, derived from this one. Users cannot choose it, because their names never contain a bare
    /// `%`.
    pub fn beside(&self, what: &str) -> Self {
        Self::new(format!("{self}:%{what}"))
    }

    /// The name from which [`beside`](Self::beside) derived this one with `what`.
    pub fn before(&self, what: &str) -> Option<&str> {
        self.text.strip_suffix(what)?.strip_suffix(":%")
    }

    /// The name as servers see it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

pub struct NameList<I>(pub I);

impl<'a, I: Iterator<Item = &'a Name> + Clone> fmt::Display for NameList<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.clone().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            f.write_str(name.as_str())?;
        }
        Ok(())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[derive(Clone, Debug)]
pub struct NameBuilder(String);

impl NameBuilder {
    pub fn new(namespace: &str) -> Self {
        Self(escape(namespace).to_string())
    }

    /// Starts with a name that the user chose, after the namespace, if any. Both handles and `name = "…"` use this
    /// function, and can thus name the same lock.
    pub fn verbatim_in(namespace: Option<&str>, name: &str) -> Self {
        let name = utf8_percent_encode(name, VERBATIM);
        let Some(namespace) = namespace else {
            return Self(name.to_string());
        };
        let mut builder = Self::new(namespace);
        builder.push(name);
        builder
    }

    pub fn parts(mut self, parts: &[String]) -> Self {
        parts.iter().for_each(|part| self.part(part));
        self
    }

    pub fn part(&mut self, part: &str) {
        self.push(escape(part));
    }

    /// Does not escape, because the result is a template.
    pub fn placeholder(&mut self, shown: &str) {
        self.push(shown);
    }

    pub fn into_text(self) -> String {
        self.0
    }

    fn push(&mut self, escaped: impl fmt::Display) {
        use fmt::Write as _;
        // Writing to a String cannot fail.
        let _ = write!(self.0, ":{escaped}");
    }

    pub fn finish(self) -> Result<Name, LockError> {
        if self.0.len() > MAX_BYTES {
            let mut start = self.0;
            // Escaped text is ASCII, so any index is a character boundary.
            start.truncate(64);
            start.push('…');
            let reason = "it is longer than 1024 bytes; use a digest of the long part";
            return Err(LockError::invalid_name(start, reason));
        }
        Ok(Name::new(self.0))
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests {
    use super::*;

    fn parts(parts: &[&str]) -> Name {
        let mut builder = NameBuilder::new(parts[0]);
        for part in &parts[1..] {
            builder.part(part);
        }
        builder.finish().unwrap()
    }

    #[test]
    fn distinct_scopes_never_meet() {
        assert_ne!(parts(&["a", "b:c"]), parts(&["a:b", "c"]));
        assert_ne!(parts(&["a", "b", ""]), parts(&["a", "b"]));
        assert_ne!(parts(&["a", "%3A"]), parts(&["a", ":"]));
        assert_ne!(parts(&["a", "{b}"]), parts(&["a", "b"]));
    }

    #[test]
    fn odd_characters_keep_their_identity() {
        for odd in ["{", "}", "%", "\0", "ü", " ", "a:b", "日本", "\n", "🦀"] {
            assert_eq!(unescape(&escape(odd).to_string()), odd);
            assert!(!escape(odd).to_string().contains([':', '{', '}', ' ', '\n']));
        }
    }

    /// In a template, the macros must escape names exactly as the runtime does. The two can't share code: a macro crate
    /// exports only macros, and a third crate for one function would have to be published as well.
    fn must_be_escaped_alike(part: &str) {
        let escaped = escape(part).to_string();
        assert_eq!(in_macros::escape(part), escaped, "{part:?}");
        assert_eq!(unescape(&escaped), part);
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b":{}".contains(&byte);
        assert!(escaped.bytes().all(is_plain), "{part:?}: {escaped}");
    }

    #[test]
    fn the_macros_escape_every_character_as_the_runtime_does() {
        let mut alone = [0; 4];
        // All that a program is likely to have, and a part of the rest.
        let all: Vec<char> = ('\0'..'\u{3000}')
            .chain(('\u{3000}'..=char::MAX).step_by(97))
            .collect();
        for c in &all {
            let part = c.encode_utf8(&mut alone);
            assert_eq!(in_macros::escape(part), escape(part).to_string(), "{c:?}");
        }
        for some in all.chunks(50) {
            let words = some.iter().flat_map(|c| ['a', *c, '%']);
            must_be_escaped_alike(&words.collect::<String>());
        }
        for odd in [
            "", ".", "..", ":", "::", "%", "%%", "%41", "%3A", "{}", "{{", "}}", "a b", "\r\n",
        ] {
            must_be_escaped_alike(odd);
        }
    }

    #[test]
    fn a_verbatim_name_keeps_its_colons() {
        assert_eq!(Name::verbatim(Some("n"), "a:b").unwrap().as_str(), "n:a:b");
        assert_eq!(Name::verbatim(None, "n:a b").unwrap().as_str(), "n:a%20b");
        for namespace in [Some("n"), None] {
            assert!(Name::verbatim(namespace, "").is_err());
            assert!(Name::verbatim(namespace, &"ü".repeat(2000)).is_err());
        }
    }
}
