//! [`Renewal`]: new credentials for an open connection, before the old ones expire.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Address, Granted, Instant, Terms, jittered, tell};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

use crate::access::Login;

/// New credentials are due when a fifth to three tenths of the validity remains, at random: clients that were started
/// together don't all ask at once.
const REST: u32 = 5;
/// The shortest time between two renewals, however soon the credentials expire or are recalled.
const LEAST: Duration = Duration::from_secs(1);
/// The pause after a failure: doubles from the first value to the second.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// The longest sleep before the clock is read again. After a suspend, timers are late by the length of the suspend.
const NAP: Duration = Duration::from_secs(1);

/// Whoever serves the connection sends the credentials, and reports the answer. Without a provider, it's never ready.
pub(in super::super) struct Renewal(Option<Box<Active>>);

struct Active {
    login: Login,
    address: Address,
    /// How long the provider may take.
    limit: Duration,
    pause: Duration,
    state: State,
}

enum State {
    Waiting(Wait),
    Asking(Pin<Box<dyn Future<Output = Result<Granted, StoreError>> + Send>>),
    /// Credentials with this validity were sent to the server.
    Sent(Terms),
}

struct Wait {
    /// `None`: no new credentials are needed until the provider recalls these.
    due: Option<Instant>,
    earliest: Instant,
    recalled: Option<oneshot::Receiver<()>>,
    nap: Pin<Box<Sleep>>,
}

impl Renewal {
    /// For a connection that has just logged in, with credentials that are valid by `terms`.
    pub(in super::super) fn new(
        login: &Login,
        address: &Address,
        limit: Duration,
        terms: Terms,
    ) -> Self {
        if login.source.is_none() {
            return Self(None);
        }
        let mut active = Box::new(Active {
            login: login.clone(),
            address: address.clone(),
            limit,
            pause: RETRY.0,
            state: State::Sent(terms),
        });
        active.answered(Ok(()));
        Self(Some(active))
    }

    /// After each value, the caller must call [`answered`](Self::answered). Cancel safe.
    pub(in super::super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Granted> {
        let Some(active) = &mut self.0 else {
            return Poll::Pending;
        };
        loop {
            match &mut active.state {
                State::Waiting(wait) => {
                    ready!(wait.poll(cx));
                    active.ask();
                }
                State::Asking(asking) => match ready!(asking.as_mut().poll(cx)) {
                    Ok(mut granted) => {
                        active.state = State::Sent(std::mem::take(&mut granted.terms));
                        return Poll::Ready(granted);
                    }
                    Err(error) => active.failed(&error),
                },
                State::Sent(_) => return Poll::Pending,
            }
        }
    }

    pub(in super::super) async fn due(&mut self) -> Granted {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Records the server's reply to the new credentials. If the server refuses them, the old credentials stay in use.
    pub(in super::super) fn answered(&mut self, result: Result<(), StoreError>) {
        if let Some(active) = &mut self.0 {
            if result.is_ok() {
                let address = active.address.to_string();
                tell(move || tracing::debug!(address, "logged in with new credentials"));
            }
            active.answered(result);
        }
    }
}

impl Active {
    fn ask(&mut self) {
        let (login, address, limit) = (self.login.clone(), self.address.clone(), self.limit);
        self.state = State::Asking(Box::pin(
            async move { login.granted(&address, limit).await },
        ));
    }

    fn answered(&mut self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            return self.failed(&error);
        }
        let State::Sent(terms) = &mut self.state else {
            return;
        };
        let now = Instant::now();
        let left = terms.expires.map(|expires| now.until(expires));
        let recalled = terms.recalled.take();
        let (least, pause) = match left {
            // The credentials have expired by the local clock. But the server has accepted them, so its clock may differ.
            Some(Duration::ZERO) => {
                let address = self.address.to_string();
                tell(move || {
                    tracing::warn!(
                        address,
                        "the credentials provider gives what has expired, by the clock of this machine"
                    );
                });
                (self.pause, longer(self.pause))
            }
            _ => (LEAST, RETRY.0),
        };
        self.pause = pause;
        let wait = left.map(|left| before_the_end_of(left).max(least));
        self.state = State::Waiting(Wait::new(now, wait, recalled));
    }

    fn failed(&mut self, error: &StoreError) {
        let (address, why) = (self.address.to_string(), error.clone());
        tell(move || {
            tracing::warn!(address, error = %why, "the credentials of a connection are not renewed yet, trying again");
        });
        let pause = jittered(self.pause);
        self.pause = longer(self.pause);
        self.state = State::Waiting(Wait::new(Instant::now(), Some(pause), None));
    }
}

fn before_the_end_of(left: Duration) -> Duration {
    let rest = left / REST;
    left - rest - (rest - jittered(rest))
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(RETRY.1)
}

impl Wait {
    fn new(now: Instant, wait: Option<Duration>, recalled: Option<oneshot::Receiver<()>>) -> Self {
        Self {
            due: wait.map(|wait| now.after(wait)),
            earliest: now.after(LEAST),
            recalled,
            nap: Box::pin(sleep(wait.unwrap_or(NAP).min(NAP))),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(recalled) = &mut self.recalled
            && let Poll::Ready(word) = Pin::new(recalled).poll(cx)
        {
            self.recalled = None;
            // An error only means that the provider will not recall these credentials.
            if word.is_ok() {
                self.due = Some(self.earliest);
            }
        }
        let Some(due) = self.due else {
            return Poll::Pending;
        };
        loop {
            ready!(self.nap.as_mut().poll(cx));
            let left = Instant::now().until(due);
            if left.is_zero() {
                return Poll::Ready(());
            }
            let next = tokio::time::Instant::now() + left.min(NAP);
            self.nap.as_mut().reset(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_to_three_tenths_of_the_time_is_left() {
        for left in [900, 3600, 86_400] {
            let left = Duration::from_secs(left);
            for _ in 0..100 {
                let wait = before_the_end_of(left);
                let bounds = left.mul_f64(0.699)..left.mul_f64(0.801);
                assert!(bounds.contains(&wait), "{wait:?} of {left:?}");
            }
        }
        assert_eq!(before_the_end_of(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn pauses_grow_to_half_a_minute() {
        let mut pause = RETRY.0;
        for _ in 0..20 {
            pause = longer(pause);
        }
        assert_eq!(pause, RETRY.1);
    }
}
