//! [`Route`]: finds the server, again for every connection: the one in the URL, or the primary that the sentinels of the
//! service name. Knows nothing of the lock protocol.

mod sentinel;
mod watch;

use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Address, Layout, StoreErrorKind, Trouble, lock, tell};
use tokio::sync::watch::Sender;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub(super) use self::sentinel::Primary;
use crate::RedisEndpoint;
use crate::engine::listed;
use crate::login::error::ConnectError;
use crate::wire::Limits;

const SENTINEL_SILENCE: Duration = Duration::from_millis(800);
/// How long to wait for the other sentinels once one has named a primary: they may know a newer primary.
const OTHERS: Duration = Duration::from_millis(200);
const MOST: usize = 16;

pub(crate) struct Route {
    pub(super) endpoint: RedisEndpoint,
    /// The known sentinels.
    all: Mutex<Vec<Address>>,
    current: Mutex<Option<Primary>>,
    /// The primary that the sentinel with the subscription names; `None` without a subscription, so always without sentinels.
    latest: Sender<Option<Primary>>,
}

type Answer = Result<(Primary, Vec<Address>), ConnectError>;

impl Route {
    pub(crate) fn new(endpoint: RedisEndpoint) -> Self {
        Self {
            all: Mutex::new(endpoint.servers.clone()),
            endpoint,
            current: Mutex::default(),
            latest: Sender::new(None),
        }
    }

    pub(super) fn has_sentinels(&self) -> bool {
        self.endpoint.layout == Layout::Failover
    }

    pub(super) async fn resolve(&self, limits: Limits) -> Result<Primary, ConnectError> {
        if !self.has_sentinels() {
            return Ok(Primary {
                address: self.endpoint.servers[0].clone(),
                epoch: 0,
            });
        }
        let mut best: Option<Primary> = self.latest.borrow().clone();
        let mut failed = Vec::new();
        for (address, answer) in self.answers(limits).await {
            match answer {
                Ok((primary, others)) => {
                    self.learn(others);
                    if best.as_ref().is_none_or(|best| best.epoch < primary.epoch) {
                        best = Some(primary);
                    }
                }
                Err(error) => {
                    let (asked, why) = (address.to_string(), format!("{error:?}"));
                    tell(move || {
                        tracing::debug!(address = asked, error = why, "a sentinel cannot be asked");
                    });
                    failed.push((address, error));
                }
            }
        }
        if let Some(primary) = best {
            *lock(&self.current) = Some(primary.clone());
            return Ok(primary);
        }
        *lock(&self.current) = None;
        let failed = failed.into_iter().max_by_key(|(_, error)| worth(error));
        Err(match failed {
            Some((_, error @ ConnectError::UnknownService(_))) => error,
            Some((_, ConnectError::Unreachable(trouble, error))) => {
                ConnectError::NoSentinel(trouble, error)
            }
            Some((address, error)) => ConnectError::At(address.to_string(), Box::new(error)),
            None => {
                let silent = StoreError::disconnected("no sentinel answers");
                ConnectError::NoSentinel(Trouble::Silent, silent)
            }
        })
    }

    /// After the first answer, the others have only [`OTHERS`] left.
    async fn answers(&self, limits: Limits) -> Vec<(Address, Answer)> {
        let all = lock(&self.all).clone();
        let enough = all.len() / 2 + 1;
        let mut asked = JoinSet::new();
        for address in all {
            let endpoint = self.endpoint.clone();
            asked.spawn(async move {
                let answer = ask(&endpoint, &address, limits).await;
                (address, answer)
            });
        }
        let (mut answers, mut named, mut end) = (Vec::new(), 0, limits.end);
        while named < enough
            && let Ok(Some(Ok((address, answer)))) = timeout_at(end, asked.join_next()).await
        {
            if answer.is_ok() {
                named += 1;
                end = end.min(Instant::now() + OTHERS);
            }
            answers.push((address, answer));
        }
        answers
    }

    fn learn(&self, others: Vec<Address>) {
        let mut all = lock(&self.all);
        for other in others {
            if all.len() < MOST && !all.contains(&other) {
                all.push(other);
            }
        }
    }

    pub(super) async fn replaced(&self, server: &Primary) -> StoreError {
        let mut latest = self.latest.subscribe();
        let replacing = latest.wait_for(|latest| {
            let latest = latest.as_ref();
            latest.is_some_and(|latest| latest.replaces(server))
        });
        let address = match replacing.await.as_deref() {
            Ok(Some(primary)) => primary.address.to_string(),
            // This never happens, because the sender lives as long as `self`.
            _ => "another server".to_owned(),
        };
        StoreError::disconnected(format!("the primary is {address} now"))
    }

    pub(super) async fn moved(&self) {
        let mut latest = self.latest.subscribe();
        while latest.changed().await.is_ok() {
            let latest = latest.borrow();
            let current = lock(&self.current);
            if let (Some(latest), Some(current)) = (&*latest, &*current)
                && latest.replaces(current)
            {
                return;
            }
        }
    }

    pub(super) async fn watch(&self) {
        match self.has_sentinels() {
            // The watch is on the heap, because most drivers need no watch.
            true => Box::pin(watch::run(self)).await,
            false => pending().await,
        }
    }

    /// `Ok`: the error is temporary, and another attempt may succeed.
    pub(super) fn judge(&self, error: ConnectError) -> Result<ConnectError, ConnectError> {
        let what = match &error {
            ConnectError::Unreachable(Trouble::Busy, _)
            | ConnectError::NoSentinel(Trouble::Silent, _) => return Ok(error),
            _ if !self.has_sentinels() => return Err(error),
            ConnectError::Role(role) => format!("{} is a {role}", self.place()),
            ConnectError::Unreachable(_, source) => format!("{}: {source}", self.place()),
            _ => return Err(error),
        };
        let source = StoreError::new(StoreErrorKind::Disconnected, what);
        Ok(ConnectError::NoPrimary(
            self.endpoint.service.clone(),
            source,
        ))
    }

    pub(super) fn place(&self) -> String {
        let current = lock(&self.current)
            .as_ref()
            .map(|it| it.address.to_string());
        current.unwrap_or_else(|| listed(&self.endpoint.servers))
    }
}

async fn ask(endpoint: &RedisEndpoint, address: &Address, limits: Limits) -> Answer {
    let limits = Limits {
        silence: SENTINEL_SILENCE,
        ..limits
    };
    let (mut asked, _) = sentinel::open(endpoint, address, limits).await?;
    let primary = sentinel::primary(&mut asked, &endpoint.service).await?;
    // The other sentinels may be asked next time. A failure to list them does not matter.
    let others = sentinel::others(&mut asked, &endpoint.service).await;
    Ok((primary, others.unwrap_or_default()))
}

/// An unknown service ranks highest, then other errors that a person must fix, then timeouts.
fn worth(error: &ConnectError) -> u8 {
    match error {
        ConnectError::Unreachable(Trouble::Unreachable, _) => 0,
        ConnectError::Unreachable(..) => 1,
        ConnectError::UnknownService(_) => 3,
        _ => 2,
    }
}

#[cfg(any(test, fuzzing))]
pub(super) fn read(reply: &crate::wire::Value<'_>) {
    if let Some(primary) = Primary::read(reply) {
        let _ = (primary.address.to_string(), primary.replaces(&primary));
    }
    let _ = sentinel::addresses(reply);
}
