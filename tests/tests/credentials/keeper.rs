//! [`Keeper`]: a credentials provider that the test controls.

use std::error::Error;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use auto_mutex::{Credentials, CredentialsProvider, ServerAddress, ServerKind};
use tokio::sync::Notify;

#[derive(Clone)]
pub(crate) struct Keeper(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    user: String,
    password: String,
    /// The password of the sentinels' user.
    of_sentinels: String,
    life: Option<Duration>,
    mood: Mood,
    asked: Vec<ServerAddress>,
}

#[derive(Clone)]
pub(crate) enum Mood {
    Gives,
    Fails,
    Hangs,
    Panics,
}

impl Keeper {
    /// Gives these credentials to every connection, without an expiry.
    pub(crate) fn new(user: &str, password: &str) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::new(State {
                user: user.to_owned(),
                password: password.to_owned(),
                of_sentinels: password.to_owned(),
                life: None,
                mood: Mood::Gives,
                asked: Vec::new(),
            }),
            changed: Notify::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, user: &str, password: &str) {
        let mut state = self.state();
        state.user = user.to_owned();
        state.password = password.to_owned();
        state.of_sentinels = password.to_owned();
    }

    pub(crate) fn set_of_sentinels(&self, password: &str) {
        self.state().of_sentinels = password.to_owned();
    }

    /// Credentials that are given from now on expire after this time.
    pub(crate) fn set_life(&self, life: Duration) {
        self.state().life = Some(life);
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.state().mood = mood;
    }

    /// Announces that the credentials must be replaced.
    pub(crate) fn recall(&self) {
        self.0.changed.notify_waiters();
    }

    /// Returns the servers for which the provider was asked so far.
    pub(crate) fn asked(&self) -> Vec<ServerAddress> {
        self.state().asked.clone()
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.state().asked.len()
    }
}

impl CredentialsProvider for Keeper {
    async fn credentials(
        &self,
        server: &ServerAddress,
    ) -> Result<Credentials, Box<dyn Error + Send + Sync>> {
        let mood = {
            let mut state = self.state();
            state.asked.push(server.clone());
            state.mood.clone()
        };
        match mood {
            Mood::Gives => {}
            Mood::Fails => return Err(io::Error::other("no token today").into()),
            Mood::Hangs => pending().await,
            Mood::Panics => panic!("as told"),
        }
        // This provider needs a runtime with timers, as the client of a cloud service does.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let state = self.state();
        let password = match server.kind() {
            ServerKind::Sentinel => &state.of_sentinels,
            _ => &state.password,
        };
        let credentials = Credentials::new(state.user.clone(), password.clone());
        Ok(match state.life {
            Some(life) => credentials.valid_for(life),
            None => credentials,
        })
    }

    async fn changed(&self) {
        self.0.changed.notified().await;
    }
}
