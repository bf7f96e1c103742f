//! [`Source`]: asks a provider, with a time limit.

use std::fmt;
use std::io;
use std::panic::RefUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::lane::{Job, Lane};
use super::{CredentialsProvider, Granted, ServerAddress, ServerKind};
use crate::base::address::Address;
use crate::base::error::StoreError;
use crate::base::sync::Mutex;
use crate::base::sync::atomic::Ordering;
use crate::base::wait::lock;

const MOST_REPLACED: u32 = 8;

/// The source of credentials for servers of one kind. All sources of a client share a thread.
#[derive(Clone)]
pub struct Source {
    shared: Arc<Shared>,
    kind: ServerKind,
}

/// Starts a thread for the provider.
type Start = Arc<dyn Fn() -> io::Result<Lane> + Send + Sync>;

struct Shared {
    /// Must come before `lane`, because fields are dropped in order. Both this closure and the lane's thread refer to
    /// the provider. The thread ends after `lane` is dropped, and so it drops the provider, not a caller's thread.
    start: Start,
    /// The lane, and how many lanes it has replaced.
    lane: Mutex<(Option<Lane>, u32)>,
}

impl Source {
    /// For a single server.
    pub fn new(provider: impl CredentialsProvider) -> Self {
        let provider = Arc::new(provider);
        Self::of(Arc::new(move || Lane::start(provider.clone())))
    }

    fn of(start: Start) -> Self {
        let lane = Mutex::default();
        Self {
            shared: Arc::new(Shared { start, lane }),
            kind: ServerKind::Server,
        }
    }

    /// The same provider on another thread.
    #[doc(hidden)]
    pub fn of_client(&self) -> Self {
        Self::of(self.shared.start.clone())
    }

    /// The same provider, for servers of another kind.
    pub fn of_kind(&self, kind: ServerKind) -> Self {
        Self {
            kind,
            ..self.clone()
        }
    }

    /// Cancel safe.
    pub async fn ask(&self, address: &Address, limit: Duration) -> Result<Granted, StoreError> {
        let server = ServerAddress {
            address: address.clone(),
            kind: self.kind,
        };
        let (reply, mut answer) = oneshot::channel();
        let failed =
            |words: String| StoreError::disconnected(format!("the credentials provider {words}"));
        let lane = self.shared.submit((server, reply));
        let lane = lane.map_err(|error| failed(format!("has no thread: {error}")))?;
        // Borrowed, because dropping `answer` would wake the thread, which would then look blocked.
        match timeout(limit, &mut answer).await {
            Ok(Ok(Ok(granted))) => Ok(granted),
            Ok(Ok(Err(words))) => Err(failed(words)),
            Ok(Err(_)) => Err(failed("panicked".to_owned())),
            Err(_) => {
                self.shared.replace_if_blocked(&lane);
                let seconds = limit.as_secs_f64();
                Err(failed(format!("has not answered within {seconds:.1} s")))
            }
        }
    }
}

// The runtime of the lane catches a panic of the provider.
impl RefUnwindSafe for Shared {}

impl Shared {
    fn submit(&self, job: Job) -> io::Result<Lane> {
        let (lane, _) = &mut *lock(&self.lane);
        let lane = match lane {
            Some(lane) => lane,
            None => lane.insert((self.start)()?),
        };
        let _ = lane.jobs.send(job);
        Ok(lane.clone())
    }

    /// If the provider blocks the thread, the next job gets a new thread. The blocked one ends when the provider
    /// returns.
    fn replace_if_blocked(&self, lane: &Lane) {
        let (current, replaced) = &mut *lock(&self.lane);
        let blocks = |current: &mut Lane| {
            Arc::ptr_eq(&current.busy, &lane.busy) && lane.busy.load(Ordering::Relaxed)
        };
        if *replaced < MOST_REPLACED && current.take_if(blocks).is_some() {
            *replaced += 1;
        }
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && self.kind == other.kind
    }
}

impl Eq for Source {}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialsProvider")
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::future::{Future, pending};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use tokio::sync::Notify;

    use super::*;
    use crate::store::credentials::Credentials;

    const SOON: Duration = Duration::from_secs(60);

    fn address() -> Address {
        Address::Tcp {
            host: "h".to_owned(),
            port: 1,
        }
    }

    fn source(provider: impl CredentialsProvider) -> Source {
        Source::new(provider)
    }

    /// Reports the name of the thread on which it is dropped.
    struct Tells(Sender<Option<String>>);

    impl Tells {
        fn new() -> (Self, Receiver<Option<String>>) {
            let (sender, told) = channel();
            (Self(sender), told)
        }
    }

    impl Drop for Tells {
        fn drop(&mut self) {
            let thread = thread::current();
            let _ = self.0.send(thread.name().map(str::to_owned));
        }
    }

    #[track_caller]
    fn is_dropped_by_the_lane(told: &Receiver<Option<String>>) {
        let thread = told.recv_timeout(SOON).unwrap();
        assert_eq!(thread.as_deref(), Some("auto-mutex-login"));
    }

    /// A provider that never returns, and reports the name of the thread on which its future is dropped.
    struct Hangs(Sender<Option<String>>);

    impl CredentialsProvider for Hangs {
        async fn credentials(
            &self,
            _: &ServerAddress,
        ) -> Result<Credentials, Box<dyn Error + Send + Sync>> {
            let _tells = Tells(self.0.clone());
            pending().await
        }
    }

    #[tokio::test]
    async fn what_takes_too_long_is_dropped_on_its_own_thread() {
        let (sender, told) = channel();
        let source = source(Hangs(sender));
        let error = source.ask(&address(), Duration::from_millis(100)).await;
        let text = error.unwrap_err().to_string();
        assert_eq!(
            text,
            "the credentials provider has not answered within 0.1 s"
        );
        is_dropped_by_the_lane(&told);
    }

    #[tokio::test]
    async fn a_provider_that_blocks_its_thread_gets_another_one() {
        let (blocked, end) = channel::<()>();
        let end = Mutex::new(Some(end));
        let source = source(move |_| {
            let end = lock(&end).take();
            async move {
                let _ = end.map(|end| end.recv());
                Ok(Credentials::password("p"))
            }
        });
        let limit = Duration::from_millis(100);
        assert!(source.ask(&address(), limit).await.is_err());
        assert!(source.ask(&address(), SOON).await.is_ok());
        drop(blocked);
    }

    #[tokio::test]
    async fn a_provider_that_only_waits_keeps_its_thread() {
        let source = source(Hangs(channel().0));
        for _ in 0..3 {
            let limit = Duration::from_millis(50);
            assert!(source.ask(&address(), limit).await.is_err());
        }
        assert_eq!(lock(&source.shared.lane).1, 0);
    }

    #[tokio::test]
    async fn a_provider_is_dropped_on_its_own_thread() {
        let (tells, told) = Tells::new();
        let source = source(move |_| {
            let _ = &tells;
            async { Ok(Credentials::password("p")) }
        });
        drop(source.ask(&address(), SOON).await.unwrap());
        drop(source);
        is_dropped_by_the_lane(&told);
    }

    #[tokio::test]
    async fn a_time_that_makes_no_sense_is_a_failure() {
        let source = source(|_| async { Ok(Credentials::new("u", "p").valid_for("5 weeks")) });
        let error = source.ask(&address(), SOON).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`valid_for`"), "{text}");
        assert!(text.starts_with("the credentials provider "), "{text}");
    }

    /// Changes its credentials while the client asks for them.
    #[derive(Default)]
    struct Fickle(Notify);

    impl CredentialsProvider for Fickle {
        async fn credentials(
            &self,
            _: &ServerAddress,
        ) -> Result<Credentials, Box<dyn Error + Send + Sync>> {
            self.0.notify_waiters();
            Ok(Credentials::password("old"))
        }

        fn changed(&self) -> impl Future<Output = ()> + Send {
            self.0.notified()
        }
    }

    #[tokio::test]
    async fn a_change_while_the_provider_is_asked_is_not_missed() {
        let source = source(Fickle::default());
        let granted = source.ask(&address(), SOON).await.unwrap();
        let recalled = timeout(SOON, granted.recalled.unwrap()).await;
        recalled.unwrap().unwrap();
    }

    #[tokio::test]
    async fn an_error_is_told_with_its_sources() {
        #[derive(Debug, thiserror::Error)]
        #[error("no token")]
        struct NoToken(#[source] io::Error);
        let source = source(|_| async {
            let cause = io::Error::other("the role is missing");
            Err(NoToken(cause).into())
        });
        let error = source.ask(&address(), SOON).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the credentials provider failed: no token: the role is missing"
        );
    }
}
