//! [`Route`]: finds the server for each new connection: the one in the URL, or the primary that the sentinels report.
//! Knows nothing of the lock protocol.

#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod sentinel;

use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{Address, Layout, STORE, StoreErrorKind, Trouble, lock, tell};
use tokio::sync::watch::Sender;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub(super) use self::sentinel::Primary;
use self::sentinel::View;
use crate::RedisEndpoint;
use crate::engine::listed;
use crate::login::error::ConnectError;
use crate::wire::Limits;

const SENTINEL_SILENCE: Duration = Duration::from_millis(800);
/// How long to wait for other sentinels once one has reported a primary. They may know a newer one.
const OTHERS: Duration = Duration::from_millis(200);
/// The most sentinels to remember, unless the URL has more.
const MOST: usize = 16;

pub(crate) struct Route {
    pub(super) endpoint: RedisEndpoint,
    /// The known sentinels: those in the URL, and those that they last reported.
    all: Mutex<Vec<Address>>,
    /// How many sentinels the best connected one sees, including itself.
    most: Mutex<usize>,
    current: Mutex<Option<Primary>>,
    /// The primary according to the sentinel with the subscription; `None` without a subscription or without sentinels.
    latest: Sender<Option<Primary>>,
}

type Answer = Result<View, ConnectError>;

impl Route {
    pub(crate) fn new(endpoint: RedisEndpoint) -> Self {
        Self {
            all: Mutex::new(endpoint.servers.clone()),
            endpoint,
            most: Mutex::default(),
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
        let (mut views, mut failed) = (Vec::new(), Vec::new());
        for (address, answer) in self.answers(limits).await {
            match answer {
                Ok(view) => views.push((address, view)),
                Err(error) => {
                    let (asked, why) = (address.to_string(), format!("{error:?}"));
                    tell(move || {
                        tracing::debug!(target: STORE, address = asked, error = why, "a sentinel cannot be asked");
                    });
                    failed.push((address, error));
                }
            }
        }
        *lock(&self.most) = 0;
        self.take_in(&mut views);
        let named = views.into_iter().map(|(_, view)| view.primary);
        let best = named.chain(self.latest.borrow().clone());
        let best = best.max_by_key(|primary| primary.epoch);
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

    /// After the first answer, the others have only [`OTHERS`] left, unless that sentinel sees few of them: it may be
    /// left over from an earlier set.
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
            if let Ok(view) = &answer {
                named += 1;
                let sees_most = view.up + 1 >= enough;
                let left = if sees_most { OTHERS } else { SENTINEL_SILENCE };
                end = end.min(Instant::now() + left);
            }
            answers.push((address, answer));
        }
        answers
    }

    /// Removes the views of sentinels that see at most half as many others as the best connected one does. Such a
    /// sentinel may be left over from an earlier set with higher epochs. Also forgets sentinels that no other one
    /// reports.
    fn take_in(&self, views: &mut Vec<(Address, View)>) {
        let mut most = lock(&self.most);
        let seen = views.iter().map(|(_, view)| view.up + 1);
        *most = seen.fold(*most, usize::max);
        views.retain(|(_, view)| (view.up + 1) * 2 > *most);
        if views.is_empty() {
            // Those sentinels may be gone.
            *most = most.saturating_sub(1);
            return;
        }
        let named = views.iter().flat_map(|(_, view)| &view.others);
        let learned = views.iter().map(|(address, _)| address).chain(named);
        let mut all = self.endpoint.servers.clone();
        for address in learned {
            if all.len() < MOST && !all.contains(address) {
                all.push(address.clone());
            }
        }
        *lock(&self.all) = all;
    }

    pub(super) async fn replaced(&self, server: &Primary) -> StoreError {
        let mut latest = self.latest.subscribe();
        let replacing = latest.wait_for(|latest| {
            let latest = latest.as_ref();
            latest.is_some_and(|latest| latest.replaces(server))
        });
        let address = match replacing.await.as_deref() {
            Ok(Some(primary)) => primary.address.to_string(),
            // Unreachable, because the sender lives as long as `self`.
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
            // The watch is on the heap, because most drivers need none.
            true => Box::pin(sentinel::watch(self)).await,
            false => pending().await,
        }
    }

    /// Returns `Ok` if the error is temporary, and another attempt may succeed.
    pub(super) fn judge(&self, error: ConnectError) -> Result<ConnectError, ConnectError> {
        let what = match &error {
            ConnectError::Unreachable(Trouble::Busy, _)
            | ConnectError::NoSentinel(Trouble::Silent, _) => return Ok(error),
            _ if !self.has_sentinels() => return Err(error),
            ConnectError::Role(role) => format!("{} is a {role}", self.address_text()),
            ConnectError::Unreachable(_, source) => format!("{}: {source}", self.address_text()),
            _ => return Err(error),
        };
        let source = StoreError::new(StoreErrorKind::Disconnected, what);
        Ok(ConnectError::NoPrimary(
            self.endpoint.service.clone(),
            source,
        ))
    }

    pub(super) fn address_text(&self) -> String {
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
    sentinel::view(&mut asked, &endpoint.service).await
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Address {
        let host = "h".to_owned();
        Address::Tcp { host, port }
    }

    fn view(epoch: u64, up: usize, others: impl IntoIterator<Item = u16>) -> View {
        let address = at(1);
        View {
            primary: Primary { address, epoch },
            others: others.into_iter().map(at).collect(),
            up,
        }
    }

    fn route() -> Route {
        Route::new(RedisEndpoint::new(Layout::Failover, vec![at(1), at(2)]))
    }

    #[test]
    fn sentinels_that_nobody_names_any_more_are_forgotten() {
        let route = route();
        for day in 1..=100 {
            let others = [1, 100 * day, 100 * day + 1];
            route.take_in(&mut vec![(at(2), view(1, 3, others))]);
            let known = lock(&route.all).clone();
            assert_eq!(known, [1, 2, 100 * day, 100 * day + 1].map(at));
        }
        // While no sentinel answers, nothing is forgotten.
        route.take_in(&mut Vec::new());
        assert_eq!(lock(&route.all).len(), 4);
        route.take_in(&mut vec![(at(2), view(1, 3, 1..100))]);
        assert_eq!(lock(&route.all).len(), MOST);
    }

    #[test]
    fn one_that_is_left_of_an_earlier_set_does_not_count() {
        let route = route();
        let mut views = vec![
            (at(1), view(9, 0, [7, 8])),
            (at(2), view(1, 2, [3, 4])),
            (at(3), view(2, 1, [2, 4])),
        ];
        route.take_in(&mut views);
        let epochs: Vec<_> = views.iter().map(|(_, view)| view.primary.epoch).collect();
        assert_eq!(epochs, [1, 2]);
        assert!(!lock(&route.all).contains(&at(7)));
        // If the others are gone, its view counts after a while.
        let left = || vec![(at(1), view(9, 0, []))];
        let mut tries = (0..10).map(|_| {
            let mut views = left();
            route.take_in(&mut views);
            views.len()
        });
        assert!(tries.next() == Some(0) && tries.any(|count| count == 1));
    }
}
