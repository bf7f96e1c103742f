//! Names of locks: `namespace:package:type:method[:key…]`, and the escaping that keeps distinct scopes apart. Stores add
//! a prefix of their own.

/// The escaping of the macros for the fixed texts of a name, for comparison.
#[cfg(repository)]
#[cfg(test)]
#[path = "../../../../macros/src/args/escape.rs"]
mod in_macros;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::base::error::LockError;
use crate::base::sync::RandomState;

/// Marks the name of a condition variable. Its capacity does not, because a semaphore may have no permits.
pub const CONDVAR: &str = "condvar";

/// After escaping.
pub(crate) const MAX_BYTES: usize = 1024;

/// Braces would end the hash tag of a key early, spaces separate words in messages, and `%` begins an escape. (Characters
/// beyond ASCII are always escaped.)
const VERBATIM: &AsciiSet = &CONTROLS.add(b'{').add(b'}').add(b'%').add(b' ');
/// The text has escapes already.
const SHOWN: &AsciiSet = &VERBATIM.remove(b'%');
/// A part also escapes the separator of parts.
const PART: &AsciiSet = &VERBATIM.add(b':');

/// Escapes a part of a name.
pub fn escape(part: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(part, PART)
}

pub(crate) fn unescape(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// Escapes what a name, or a pattern of names, may not contain, but not `%`.
pub fn escape_shown(text: &str) -> String {
    utf8_percent_encode(text, SHOWN).to_string()
}

/// Whether each `%` begins an escape.
pub fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// A complete name, checked and escaped. Cheap to clone and to look up: its hash is computed once.
#[derive(Clone)]
pub struct Name {
    hash: u64,
    text: Arc<str>,
}

/// A map by name. It compares whole names, so that a collision of hashes never shares a lock.
pub type NameMap<V> = HashMap<Name, V, BuildHasherDefault<KeyHasher>>;

/// For keys that are hashed already, or random.
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

impl Name {
    fn new(text: impl Into<Arc<str>>) -> Self {
        // Seeded at random, because names may come from a program's input.
        static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
        let text = text.into();
        let hash = STATE.hash_one(&text);
        Self { hash, text }
    }

    /// The hash of the name, which differs from process to process.
    pub fn hashed(&self) -> u64 {
        self.hash
    }

    /// `namespace:name`, or just `name`. The user chose `name`: its colons separate parts.
    pub fn verbatim(namespace: Option<&str>, name: &str) -> Result<Self, LockError> {
        if name.is_empty() {
            return Err(LockError::invalid_name("", "it is empty"));
        }
        NameBuilder::verbatim_in(namespace, name).finish()
    }

    /// A name that is escaped already.
    pub fn from_escaped(name: &str) -> Self {
        Self::new(name)
    }

    /// A name from a store; `None` if it is not escaped, or too long.
    pub fn parse(name: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"{}".contains(&byte);
        let fits = (1..=MAX_BYTES).contains(&name.len());
        (fits && name.bytes().all(plain)).then(|| Self::from_escaped(name))
    }

    /// A name for the library's own use, made from this name. No user can choose it, because names of users never have
    /// a bare `%`.
    pub fn beside(&self, what: &str) -> Self {
        Self::new(format!("{self}:%{what}"))
    }

    /// The name from which [`beside`](Self::beside) made this one with `what`.
    pub fn before(&self, what: &str) -> Option<&str> {
        self.text.strip_suffix(what)?.strip_suffix(":%")
    }

    /// The name as on the servers.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

pub(crate) struct NameList<I>(pub(crate) I);

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
pub(crate) struct NameBuilder(String);

impl NameBuilder {
    pub(crate) fn new(namespace: &str) -> Self {
        Self(escape(namespace).to_string())
    }

    /// Starts with a name that the user chose, after the namespace if there is one. Handles and `name = "…"` both use
    /// this function, so that they can name the same lock.
    pub(crate) fn verbatim_in(namespace: Option<&str>, name: &str) -> Self {
        let name = utf8_percent_encode(name, VERBATIM);
        let Some(namespace) = namespace else {
            return Self(name.to_string());
        };
        let mut builder = Self::new(namespace);
        builder.push(name);
        builder
    }

    pub(crate) fn parts(mut self, parts: &[String]) -> Self {
        parts.iter().for_each(|part| self.part(part));
        self
    }

    pub(crate) fn part(&mut self, part: &str) {
        self.push(escape(part));
    }

    /// Unescaped: the result is a template.
    pub(crate) fn placeholder(&mut self, shown: &str) {
        self.push(shown);
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn push(&mut self, escaped: impl fmt::Display) {
        use fmt::Write as _;
        // Writing to a String cannot fail.
        let _ = write!(self.0, ":{escaped}");
    }

    pub(crate) fn finish(self) -> Result<Name, LockError> {
        if self.0.len() > MAX_BYTES {
            let mut start = self.0;
            // Escaped text is ASCII, so this index is a character boundary.
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

    /// The macros must escape a name in a template as the runtime escapes the name of the lock. They cannot share code
    /// with the runtime: a crate of macros exports only macros, and a third crate for one function would have to be
    /// published, too.
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
        for c in '\0'..=char::MAX {
            let part = c.encode_utf8(&mut alone);
            assert_eq!(in_macros::escape(part), escape(part).to_string(), "{c:?}");
        }
        let all: Vec<char> = ('\0'..=char::MAX).collect();
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
