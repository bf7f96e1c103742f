//! [`Login`]: the credentials for a server. [`Renewal`]: new ones for an open connection, before the old ones expire.

use std::future::{pending, poll_fn};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    Address, Boxed, Granted, Instant, STORE, Secret, Source, clock, first, jittered, tell,
};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// A renewal leaves a fifth of the validity, or at random up to half as much more, so that clients do not all ask at
/// once.
const REST: u32 = 5;
const LEAST: Duration = Duration::from_secs(1);
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// The longest sleep before reading the clock again. Timers do not count suspended time.
const NAP: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<Secret>,
    pub(crate) password: Option<Secret>,
    /// Called for each connection. With a provider, `user` and `password` are `None`.
    pub(crate) source: Option<Source>,
}

impl Login {
    /// A user without a password logs in with an empty password, which suits a `nopass` user.
    pub(crate) fn new(user: String, password: String) -> Self {
        let has_password = !user.is_empty() || !password.is_empty();
        Self {
            user: (!user.is_empty()).then(|| Secret::new(user)),
            password: has_password.then(|| Secret::new(password)),
            source: None,
        }
    }

    pub(crate) fn ask(&mut self, source: Source) -> Result<(), &'static str> {
        if self.user.is_some() || self.password.is_some() {
            return Err(
                "the URL has a user or a password, too: leave them out, because the provider supplies them",
            );
        }
        self.source = Some(source);
        Ok(())
    }

    /// A provider gets `limit` to answer. Cancel safe.
    pub(crate) async fn granted(
        &self,
        address: &Address,
        limit: Duration,
    ) -> Result<Granted, StoreError> {
        match &self.source {
            Some(source) => source.ask(address, limit).await,
            None => Ok(Granted {
                user: self.user.clone(),
                password: self.password.clone(),
                ..Granted::default()
            }),
        }
    }
}

/// The owner of the connection sends the credentials and reports the answer. Without a provider, it is never ready.
pub(crate) struct Renewal {
    login: Login,
    address: Address,
    limit: Duration,
    pause: Duration,
    /// Waits until new credentials are due, and asks for them. `None` while the server has not answered the last ones.
    next: Option<Boxed<'static, Result<Granted, StoreError>>>,
    expires: Option<Instant>,
    recalled: Option<oneshot::Receiver<()>>,
}

impl Renewal {
    pub(crate) fn new(login: &Login, address: &Address, limit: Duration, granted: Granted) -> Self {
        let mut renewal = Self {
            login: login.clone(),
            address: address.clone(),
            limit,
            pause: RETRY.0,
            next: None,
            expires: granted.expires,
            recalled: granted.recalled,
        };
        if login.source.is_some() {
            renewal.accepted();
        }
        renewal
    }

    /// After each value, the caller must call [`answered`](Self::answered). Cancel safe.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Granted> {
        while let Some(next) = &mut self.next {
            match ready!(next.as_mut().poll(cx)) {
                Ok(mut granted) => {
                    self.next = None;
                    self.expires = granted.expires;
                    self.recalled = granted.recalled.take();
                    return Poll::Ready(granted);
                }
                Err(error) => self.failed(&error),
            }
        }
        Poll::Pending
    }

    pub(crate) async fn due(&mut self) -> Granted {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// If the server refused the new credentials, the old ones stay in use.
    pub(crate) fn answered(&mut self, result: Result<(), StoreError>) {
        match result {
            Ok(()) => {
                let address = self.address.to_string();
                tell(
                    move || tracing::debug!(target: STORE, address, "logged in with new credentials"),
                );
                self.accepted();
            }
            Err(error) => self.failed(&error),
        }
    }

    fn ask_after(&mut self, wait: Option<Duration>, recalled: Option<oneshot::Receiver<()>>) {
        let (login, address, limit) = (self.login.clone(), self.address.clone(), self.limit);
        let now = clock::now();
        self.next = Some(Box::pin(async move {
            let on_time = async {
                match wait {
                    Some(wait) => sleep_until(now.after(wait)).await,
                    None => pending().await,
                }
            };
            let on_recall = async {
                if let Some(recalled) = recalled
                    && recalled.await.is_ok()
                {
                    sleep_until(now.after(LEAST)).await;
                } else {
                    pending().await
                }
            };
            first(on_time, on_recall).await;
            login.granted(&address, limit).await
        }));
    }

    fn accepted(&mut self) {
        let now = clock::now();
        let left = self.expires.map(|expires| now.until(expires));
        let (least, pause) = match left {
            // The credentials have expired by the local clock, but the server, whose clock may differ, has accepted
            // them.
            Some(Duration::ZERO) => {
                let address = self.address.to_string();
                tell(move || {
                    tracing::warn!(
                        target: STORE,
                        address,
                        "the credentials provider returned credentials that have expired by this machine's clock"
                    );
                });
                (self.pause, longer(self.pause))
            }
            _ => (LEAST, RETRY.0),
        };
        self.pause = pause;
        let wait = left.map(|left| before_the_end_of(left).max(least));
        let recalled = self.recalled.take();
        self.ask_after(wait, recalled);
    }

    fn failed(&mut self, error: &StoreError) {
        let (address, why) = (self.address.to_string(), error.clone());
        tell(move || {
            tracing::warn!(target: STORE, address, error = %why, "the credentials of a connection are not renewed yet, trying again");
        });
        let pause = jittered(self.pause);
        self.pause = longer(self.pause);
        self.ask_after(Some(pause), None);
    }
}

fn before_the_end_of(left: Duration) -> Duration {
    let rest = left / REST;
    left - rest - (rest - jittered(rest))
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(RETRY.1)
}

async fn sleep_until(due: Instant) {
    loop {
        let left = clock::now().until(due);
        if left.is_zero() {
            return;
        }
        sleep(left.min(NAP)).await;
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
