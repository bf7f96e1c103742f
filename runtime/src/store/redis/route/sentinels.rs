//! [`Sentinels`]: those that watch over a service, and what they said of it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep_until;

use super::super::refusal::Refusal;
use super::super::wire::Limits;
use super::primary::Primary;
use super::question::Sentinel;
use crate::config::{Address, SentinelEndpoint};
use crate::error::{StoreError, StoreErrorKind};
use crate::sync::Mutex;
use crate::wait::{self, lock};

/// How long one sentinel may be silent.
pub(super) const SILENCE: Duration = Duration::from_millis(800);
/// How long after the first answer others are waited for, of which one may know better.
const OTHERS: Duration = Duration::from_millis(200);
/// How many sentinels are remembered.
const MOST: usize = 16;

pub(crate) struct Sentinels {
    pub(super) endpoint: SentinelEndpoint,
    /// Those of the URL, and those that they told of.
    all: Mutex<Vec<Address>>,
    /// What was resolved last, for the eyes.
    current: Mutex<Option<Primary>>,
    /// What the sentinel says that is listened to; `None` while there is none.
    latest: watch::Sender<Option<Primary>>,
}

/// What one sentinel answered.
type Answer = Result<Option<(Primary, Vec<Address>)>, Refusal>;
type Asking<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

impl Sentinels {
    pub(super) fn new(endpoint: &SentinelEndpoint) -> Self {
        Self {
            all: Mutex::new(endpoint.sentinels.clone()),
            endpoint: endpoint.clone(),
            current: Mutex::default(),
            latest: watch::Sender::new(None),
        }
    }

    pub(super) fn all(&self) -> Vec<Address> {
        lock(&self.all).clone()
    }

    /// The primary, as the sentinel says that knows best.
    pub(super) async fn resolve(&self, limits: Limits) -> Result<Primary, Refusal> {
        let mut best: Option<Primary> = self.latest.borrow().clone();
        let (mut ignorant, mut refused) = (None, None);
        for (address, answer) in self.answers(limits).await {
            match answer {
                Ok(Some((primary, others))) => {
                    self.learn(others);
                    if best.as_ref().is_none_or(|best| best.epoch < primary.epoch) {
                        best = Some(primary);
                    }
                }
                Ok(None) => ignorant = Some(address),
                Err(refusal) => {
                    let (asked, why) = (address.to_string(), format!("{refusal:?}"));
                    wait::tell(move || {
                        tracing::debug!(
                            address = asked,
                            refusal = why,
                            "a sentinel cannot be asked"
                        );
                    });
                    let known = refused.as_ref().map(|(_, known)| worth(known));
                    if known.is_none_or(|known| known <= worth(&refusal)) {
                        refused = Some((address, refusal));
                    }
                }
            }
        }
        if let Some(primary) = best {
            *lock(&self.current) = Some(primary.clone());
            return Ok(primary);
        }
        *lock(&self.current) = None;
        if ignorant.is_some() {
            return Err(Refusal::UnknownService(self.endpoint.service.clone()));
        }
        Err(match refused {
            Some((_, Refusal::Unreachable(error))) => Refusal::NoSentinel(error),
            Some((_, silent @ Refusal::SilentSentinels(_))) => silent,
            Some((address, refusal)) => Refusal::At(address.to_string(), Box::new(refusal)),
            None => Refusal::SilentSentinels(StoreError::disconnected("no sentinel answers")),
        })
    }

    /// Asks all at once. Complete when all have answered, or some time after one has named a primary, more than half have.
    async fn answers(&self, limits: Limits) -> Vec<(Address, Answer)> {
        let all = self.all();
        let enough = all.len() / 2 + 1;
        let mut asking: Vec<(Address, Asking<'_>)> = all
            .into_iter()
            .map(|address| (address.clone(), Box::pin(self.ask(address, limits)) as _))
            .collect();
        let mut answers = Vec::new();
        let mut late = pin!(sleep_until(limits.end));
        let mut told = 0;
        poll_fn(|cx| {
            let before = told;
            asking.retain_mut(|(address, asked)| match asked.as_mut().poll(cx) {
                Poll::Ready(answer) => {
                    told += usize::from(matches!(answer, Ok(Some(_))));
                    answers.push((address.clone(), answer));
                    false
                }
                Poll::Pending => true,
            });
            if before == 0 && told > 0 {
                late.as_mut().reset(limits.at_most(OTHERS).end);
            }
            if asking.is_empty() || told >= enough {
                return Poll::Ready(());
            }
            late.as_mut().poll(cx)
        })
        .await;
        answers
    }

    async fn ask(&self, address: Address, limits: Limits) -> Answer {
        let limits = Limits {
            silence: SILENCE,
            ..limits
        };
        let SentinelEndpoint {
            login,
            service,
            access,
            ..
        } = &self.endpoint;
        let mut sentinel = Sentinel::open(&address, login, access.tls.as_ref(), limits).await?;
        let Some(primary) = sentinel.primary(service).await? else {
            return Ok(None);
        };
        // One more that may be asked next time; no matter if it cannot say.
        let others = sentinel.others(service).await.unwrap_or_default();
        Ok(Some((primary, others)))
    }

    fn learn(&self, others: Vec<Address>) {
        let mut all = lock(&self.all);
        for other in others {
            if all.len() < MOST && !all.contains(&other) {
                all.push(other);
            }
        }
    }

    /// What the sentinel says that is listened to.
    pub(super) fn told(&self, primary: Option<Primary>) {
        self.latest.send_replace(primary);
    }

    pub(super) async fn replaced(&self, server: &Primary) -> StoreError {
        let mut latest = self.latest.subscribe();
        let replacing = latest.wait_for(|latest| {
            let latest = latest.as_ref();
            latest.is_some_and(|latest| latest.replaces(server))
        });
        let address = match replacing.await.as_deref() {
            Ok(Some(primary)) => primary.address.to_string(),
            // The sender lives as long as this.
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

    pub(super) fn judge(&self, refusal: Refusal) -> Result<Refusal, Refusal> {
        let what = match &refusal {
            Refusal::SilentSentinels(_) => return Ok(refusal),
            Refusal::Role(role) => format!("{} is a {role}", self.server()),
            Refusal::Unreachable(source) | Refusal::Silent(source) => {
                format!("{}: {source}", self.server())
            }
            _ => return Err(refusal),
        };
        let source = StoreError::new(StoreErrorKind::Disconnected, what);
        Ok(Refusal::NoPrimary(self.endpoint.service.clone(), source))
    }

    fn server(&self) -> String {
        let current = lock(&self.current);
        current
            .as_ref()
            .map_or_else(|| "unknown".to_owned(), |it| it.address.to_string())
    }

    pub(super) fn place(&self) -> String {
        let current = lock(&self.current)
            .as_ref()
            .map(|it| it.address.to_string());
        current.unwrap_or_else(|| {
            let sentinels = self.endpoint.sentinels.iter().map(Address::to_string);
            sentinels.collect::<Vec<_>>().join(",")
        })
    }
}

/// Of several refusals one counts that can be put right, then one that may pass.
fn worth(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::Unreachable(_) => 0,
        Refusal::SilentSentinels(_) => 1,
        _ => 2,
    }
}
