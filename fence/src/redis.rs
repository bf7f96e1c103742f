//! [`FencedScript`]: Lua scripts of Redis that a stale holder can't run.

use std::time::Duration;

use redis::{RedisError, Script, ScriptInvocation};

use crate::{FenceError, Token, Tokens};

/// A Lua script that Redis runs only if no later holder of the lock has run one.
///
/// The check and the commands of the script are atomic. `KEYS`, `ARGV` and the result are the script's own, as with
/// [`redis::Script`], and so are the lines in its error messages:
///
/// ```no_run
/// use auto_mutex_fence::{FenceError, FencedScript};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = auto_mutex::Client::connect("memory://")?;
/// # let mut connection = redis::Client::open("redis://localhost")?.get_multiplexed_async_connection().await?;
/// let write = FencedScript::new("return redis.call('SET', KEYS[1], ARGV[1])");
///
/// let guard = client.mutex("report").lock().await?;
/// let written = write.call(&guard, "{report}:total")?.arg(17).invoke_async::<()>(&mut connection).await;
/// written.map_err(FenceError::from)?; // FenceError::Stale if a later holder has written
/// # Ok(()) }
/// ```
///
/// # Where the tokens are
///
/// In a key for each lock, whose name has the hash tag of the script's first key: `auto-mutex:fence:{report}:` and the
/// name of the lock. So it is in the same slot of Redis Cluster as the script's keys. Fences in different slots, or
/// beside keys without a common hash tag, don't know of each other: give all keys that one lock protects the same hash
/// tag, as in `{report}:total` and `{report}:lines`.
///
/// The user of the connection needs `+get +set +evalsha +script|load` and access to these keys.
///
/// # How long
///
/// The tokens have no expiry. If there are too many names for that, see [`keep_for`](Self::keep_for). A server that
/// evicts keys (`allkeys-lru`), or that loses its last writes at a failover, forgets tokens as it forgets the writes.
#[derive(Debug)]
pub struct FencedScript {
    script: Script,
    /// In milliseconds, or empty.
    ttl: String,
}

impl FencedScript {
    /// A script in Lua. It is sent once, and then called by its hash.
    #[must_use]
    pub fn new(code: &str) -> Self {
        // A shebang has to remain the first line.
        let begin = code.find('\n').filter(|_| code.starts_with("#!"));
        let (shebang, code) = code.split_at(begin.map_or(0, |at| at + 1));
        let fence = include_str!("redis.lua").replace('\n', " ");
        let script = Script::new(&format!("{shebang}{fence}{code}"));
        let ttl = String::new();
        Self { script, ttl }
    }

    /// Forgets a token when there was no write for so long.
    ///
    /// A write that comes later than that, after another holder has written, is not refused. So it is no matter of the
    /// lease: choose longer than any process of yours can be stopped and still go on, such as days.
    #[must_use]
    pub fn keep_for(mut self, time: Duration) -> Self {
        self.ttl = time.as_millis().max(1).to_string();
        self
    }

    /// A call of the script, to which keys and arguments can be added. `key` is its first key.
    ///
    /// # Errors
    ///
    /// [`FenceError::Lost`] if this process knows that it has lost the lock; [`FenceError::Invalid`] if there is no
    /// token, or if the key has a `}` and no hash tag.
    pub fn call(
        &self,
        fence: &(impl Tokens + ?Sized),
        key: &str,
    ) -> Result<ScriptInvocation<'_>, FenceError> {
        let tokens = crate::token::in_order(fence)?;
        let reason = "a key with a `}` needs a hash tag";
        let tag = hash_tag(key).ok_or(FenceError::Invalid { reason })?;
        let mut call = self.script.prepare_invoke();
        // The script takes all of these from the beginning.
        call.arg(tokens.len()).arg(&self.ttl);
        for token in &tokens {
            let name = token.name();
            call.key(format!("auto-mutex:fence:{{{tag}}}:{name}"));
            call.arg(name).arg(token.number());
        }
        call.key(key);
        Ok(call)
    }
}

/// The part of a key by which Redis Cluster finds its slot, if it can be put between braces.
fn hash_tag(key: &str) -> Option<&str> {
    let tagged = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    match tagged {
        Some((tag, _)) if !tag.is_empty() => Some(tag),
        _ => Some(key).filter(|key| !key.is_empty() && !key.contains('}')),
    }
}

impl From<RedisError> for FenceError {
    /// Finds [`FenceError::Stale`] in the error of a [`FencedScript`]. All others are [`FenceError::Script`].
    fn from(error: RedisError) -> Self {
        let refused = error.detail().filter(|_| error.code() == Some("FENCED"));
        let stale = refused.and_then(|detail| {
            let (newest, ours) = detail.split_once(' ')?;
            let (ours, name) = ours.split_once(' ')?;
            let token = Token::new(name, ours.parse().ok()?);
            token.compare(newest.parse().ok()?).err()
        });
        stale.unwrap_or_else(|| Self::Script {
            source: error.into(),
        })
    }
}
