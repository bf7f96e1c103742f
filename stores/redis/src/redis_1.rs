//! [`Redis1Credentials`]: credential providers made for the redis crate, version 1.

use std::error::Error;
use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::Pin;

use futures_core::Stream;
use redis::{BasicAuth, RedisResult, StreamingCredentialsProvider};

use auto_mutex_seam::{Credentials, CredentialsProvider, ServerAddress};

/// Turns a `StreamingCredentialsProvider` of the redis crate (version 1), such as its `EntraIdCredentialsProvider`,
/// into a [`CredentialsProvider`]. Needs the feature `redis-1`.
///
/// When the stream yields new credentials, the client sends them on each open connection. An empty user name means the
/// default user.
///
/// ```no_run
/// use auto_mutex::{Config, Redis1Credentials};
///
/// fn connect(
///     provider: impl redis::StreamingCredentialsProvider + 'static,
/// ) -> Result<(), auto_mutex::SetupError> {
///     let config = Config::new("rediss://cache.example.net:6380")?;
///     auto_mutex::setup(config.credentials(Redis1Credentials::new(provider)))
/// }
/// ```
pub struct Redis1Credentials(Box<dyn StreamingCredentialsProvider>);

impl Redis1Credentials {
    /// Takes the credentials from `provider`. If it needs to be started, start it first.
    pub fn new(provider: impl StreamingCredentialsProvider + 'static) -> Self {
        Self(Box::new(provider))
    }
}

impl fmt::Debug for Redis1Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redis1Credentials")
    }
}

type Updates = Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send + 'static>>;

async fn next(updates: &mut Updates) -> Option<RedisResult<BasicAuth>> {
    poll_fn(|cx| updates.as_mut().poll_next(cx)).await
}

impl CredentialsProvider for Redis1Credentials {
    async fn credentials(
        &self,
        _: &ServerAddress,
    ) -> Result<Credentials, Box<dyn Error + Send + Sync>> {
        let Some(current) = next(&mut self.0.subscribe()).await else {
            return Err("the stream of credentials has ended".into());
        };
        let current = current?;
        Ok(match current.username() {
            "" => Credentials::password(current.password()),
            user => Credentials::new(user, current.password()),
        })
    }

    async fn changed(&self) {
        let mut updates = self.0.subscribe();
        let mut seen = 0;
        while let Some(update) = next(&mut updates).await {
            // The stream begins with the current credentials, so only those after the first are new.
            seen += u32::from(update.is_ok());
            if seen > 1 {
                return;
            }
        }
        pending().await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use auto_mutex_seam::store::{Address, Granted, Source};
    use auto_mutex_seam::testing::source;
    use tokio::sync::watch;
    use tokio::time::timeout;

    use super::*;

    /// A provider whose stream yields the current credentials, and later each change, as the redis crate's provider for
    /// Entra ID does.
    struct Fake(watch::Sender<Option<BasicAuth>>);

    struct Told {
        receiver: Arc<Mutex<watch::Receiver<Option<BasicAuth>>>>,
        waiting: Pin<Box<dyn Future<Output = BasicAuth> + Send>>,
    }

    impl Told {
        fn new(receiver: Arc<Mutex<watch::Receiver<Option<BasicAuth>>>>) -> Self {
            let mut copy = receiver.lock().unwrap().clone();
            let kept = receiver.clone();
            let waiting = Box::pin(async move {
                let auth = copy.wait_for(Option::is_some).await.unwrap().clone();
                *kept.lock().unwrap() = copy;
                auth.unwrap()
            });
            Self { receiver, waiting }
        }
    }

    impl Stream for Told {
        type Item = RedisResult<BasicAuth>;

        fn poll_next(
            mut self: Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            let auth = std::task::ready!(self.waiting.as_mut().poll(cx));
            let mut copy = self.receiver.lock().unwrap().clone();
            let kept = self.receiver.clone();
            self.waiting = Box::pin(async move {
                copy.changed().await.unwrap();
                let auth = copy.borrow_and_update().clone();
                *kept.lock().unwrap() = copy;
                auth.unwrap()
            });
            std::task::Poll::Ready(Some(Ok(auth)))
        }
    }

    impl StreamingCredentialsProvider for Fake {
        fn subscribe(&self) -> Updates {
            Box::pin(Told::new(Arc::new(Mutex::new(self.0.subscribe()))))
        }
    }

    fn auth(user: &str, password: &str) -> Option<BasicAuth> {
        Some(BasicAuth::new(user.to_owned(), password.to_owned()))
    }

    async fn ask(source: &Source) -> Granted {
        let address = Address::Tcp {
            host: "h".to_owned(),
            port: 1,
        };
        let asked = source.ask(&address, Duration::from_secs(60)).await;
        asked.unwrap()
    }

    #[tokio::test]
    async fn new_credentials_recall_the_old_ones() {
        let updates = watch::Sender::new(auth("one", "first"));
        let fake = Redis1Credentials::new(Fake(updates.clone()));
        let source = source(fake);
        let mut granted = ask(&source).await;
        assert_eq!(granted.user.as_ref().unwrap().expose(), "one");
        assert_eq!(granted.password.as_ref().unwrap().expose(), "first");
        let recalled = granted.recalled.as_mut().unwrap();
        let early = timeout(Duration::from_millis(50), &mut *recalled).await;
        assert!(early.is_err(), "recalled without a reason");
        updates.send_replace(auth("", "second"));
        let recalled = timeout(Duration::from_secs(60), recalled).await;
        recalled.unwrap().unwrap();
        let granted = ask(&source).await;
        assert!(granted.user.is_none());
        assert_eq!(granted.password.unwrap().expose(), "second");
    }
}
