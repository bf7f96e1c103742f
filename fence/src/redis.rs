//! [`FencedScript`]: Lua scripts of Redis that a stale holder can't run.

use std::time::Duration;

use redis::aio::ConnectionLike as AsyncConnection;
use redis::{ConnectionLike, FromRedisValue, RedisError, Script, ScriptInvocation, ToRedisArgs};

use crate::{FenceError, Token, Tokens};

/// A Lua script that Redis runs only if no later holder of the lock has run one.
///
/// The check and the commands of the script are atomic. `KEYS`, `ARGV` and the result are the script's own, as with
/// [`redis::Script`], and so are the lines in its error messages:
///
/// ```no_run
/// use auto_mutex_fence::FencedScript;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = auto_mutex::Client::connect("memory://")?;
/// # let mut connection = redis::Client::open("redis://localhost")?.get_multiplexed_async_connection().await?;
/// let write = FencedScript::new("return redis.call('SET', KEYS[1], ARGV[1])");
///
/// let guard = client.mutex("report").lock().await?;
/// // Err(FenceError::Stale { .. }) if a later holder has written
/// let () = write.key("{report}:total").arg(17).invoke_async(&guard, &mut connection).await?;
/// # Ok(()) }
/// ```
///
/// # Where the tokens are
///
/// In a key for each lock, whose name has the hash tag of the script's first key: `auto-mutex:fence:{report}:` and the
/// name of the lock. So it is in the same slot of Redis Cluster as the script's keys. Fences in different slots, or beside
/// keys without a common hash tag, don't know of each other: give all keys that one lock protects the same hash tag, as in
/// `{report}:total` and `{report}:lines`.
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

    /// Calls the script with a first key.
    pub fn key(&self, key: impl AsRef<str>) -> FencedCall<'_> {
        let mut call = self.script.prepare_invoke();
        call.key(key.as_ref());
        FencedCall {
            call,
            first: key.as_ref().to_owned(),
            ttl: &self.ttl,
        }
    }
}

/// A call of a [`FencedScript`], with its keys and arguments.
#[derive(Debug)]
pub struct FencedCall<'a> {
    call: ScriptInvocation<'a>,
    first: String,
    ttl: &'a str,
}

impl FencedCall<'_> {
    /// Adds a key. In Redis Cluster, it must be in the slot of the first.
    #[must_use]
    pub fn key(mut self, key: impl ToRedisArgs) -> Self {
        self.call.key(key);
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, value: impl ToRedisArgs) -> Self {
        self.call.arg(value);
        self
    }

    /// Runs the script if no later holder has written.
    ///
    /// # Errors
    ///
    /// [`FenceError::Stale`] if one has. See [`FenceError`] for the others, also for those of the script.
    pub fn invoke<T: FromRedisValue>(
        mut self,
        fence: &(impl Tokens + ?Sized),
        connection: &mut dyn ConnectionLike,
    ) -> Result<T, FenceError> {
        let tokens = self.add(fence.tokens())?;
        let result = self.call.invoke(connection);
        result.map_err(|error| refusal(&tokens, error))
    }

    /// As [`invoke`](Self::invoke), asynchronously.
    ///
    /// # Errors
    ///
    /// As [`invoke`](Self::invoke).
    pub async fn invoke_async<T: FromRedisValue>(
        mut self,
        fence: &(impl Tokens + ?Sized),
        connection: &mut impl AsyncConnection,
    ) -> Result<T, FenceError> {
        let tokens = self.add(fence.tokens())?;
        let result = self.call.invoke_async(connection).await;
        result.map_err(|error| refusal(&tokens, error))
    }

    /// The script takes them from the end, so the last comes first.
    fn add(&mut self, tokens: Vec<Token>) -> Result<Vec<Token>, FenceError> {
        let tokens = crate::token::in_order(tokens)?;
        let tag = hash_tag(&self.first).ok_or(FenceError::Invalid {
            reason: "a key with a `}` needs a hash tag",
        })?;
        for (token, number) in &tokens {
            self.call
                .key(format!("auto-mutex:fence:{{{tag}}}:{}", token.name()));
            self.call.arg(*number);
        }
        self.call.arg(tokens.len()).arg(self.ttl);
        Ok(tokens.into_iter().rev().map(|(token, _)| token).collect())
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

fn refusal(tokens: &[Token], error: RedisError) -> FenceError {
    let refused = error.detail().filter(|_| error.code() == Some("FENCED"));
    let refused = refused.and_then(|detail| {
        let (at, newest) = detail.split_once(' ')?;
        let token = tokens.get(at.parse::<usize>().ok()?.checked_sub(1)?)?;
        token.compare(newest.parse().ok()?).err()
    });
    refused.unwrap_or(FenceError::Resource {
        source: error.into(),
    })
}
