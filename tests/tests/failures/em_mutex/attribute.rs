//! Points 8 and 9, as far as they concern the attribute.

use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::events::soon;

use crate::rig::{Rig, config};

#[derive(Default)]
struct Job {
    half_run: AtomicU32,
    answered: AtomicU32,
}

impl Job {
    #[auto_mutex(ns = "suite", name = "outer", block = 0, on_timeout = Self::busy)]
    async fn outer(&self) -> Result<&'static str, LockError> {
        self.half_run.fetch_add(1, Ordering::SeqCst);
        self.inner().await
    }

    #[auto_mutex(ns = "suite", name = "inner", block = 0)]
    async fn inner(&self) -> Result<&'static str, LockError> {
        Ok("done")
    }

    #[auto_mutex(ns = "suite", name = "outer", block = 0, on_timeout = Self::busy)]
    fn outer_sync(&self) -> Result<&'static str, LockError> {
        self.half_run.fetch_add(1, Ordering::SeqCst);
        self.inner_sync()
    }

    #[auto_mutex(ns = "suite", name = "inner", block = 0)]
    fn inner_sync(&self) -> Result<&'static str, LockError> {
        Ok("done")
    }

    fn busy(&self) -> Result<&'static str, LockError> {
        self.answered.fetch_add(1, Ordering::SeqCst);
        Ok("busy")
    }

    fn counts(&self) -> (u32, u32) {
        let count = |counter: &AtomicU32| counter.load(Ordering::SeqCst);
        (count(&self.half_run), count(&self.answered))
    }
}

#[track_caller]
fn inner_timed_out(result: Result<&'static str, LockError>) {
    let error = result.unwrap_err();
    assert!(
        matches!(&error, LockError::Timeout { name, .. } if name == "suite:inner"),
        "{error:?}"
    );
}

#[tokio::test]
async fn em_mutex_08_on_timeout_does_not_answer_an_inner_timeout() {
    let rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    let job = Job::default();
    let inner = other.mutex("inner").lock().await.unwrap();
    inner_timed_out(soon("an answer", client.scope(job.outer())).await);
    assert_eq!(job.counts(), (1, 0), "the body ran, its handler did not");
    inner_timed_out(client.blocking_scope(|| job.outer_sync()));
    assert_eq!(job.counts(), (2, 0));
    drop(inner);
    // The handler answers the timeout of its own lock, and then the body does not run.
    let outer = soon("free", other.mutex("outer").lock()).await.unwrap();
    assert_eq!(
        soon("an answer", client.scope(job.outer())).await.unwrap(),
        "busy"
    );
    assert_eq!(client.blocking_scope(|| job.outer_sync()).unwrap(), "busy");
    assert_eq!(job.counts(), (2, 2));
    assert!(outer.unlock().await.unwrap());
}

#[auto_mutex(ns = "suite", name = "keyed", key = (a, b), block = 0)]
async fn keyed(a: &str, b: &str, inside: impl AsyncFnOnce()) -> Result<(), LockError> {
    inside().await;
    Ok(())
}

#[tokio::test]
async fn em_mutex_09_parts_of_a_key_never_run_together() {
    let rig = Rig::new();
    let client = Client::connect(config(&rig.redis.url())).unwrap();
    let other = rig.client();
    client
        .scope(keyed("a", "b:c", async || {
            // The pair `a` and `b:c` has a different lock than each of these pairs.
            for (a, b) in [("a:b", "c"), ("a", "b"), ("a%3Ab", "c"), ("a", "b%3Ac")] {
                other.scope(keyed(a, b, async || {})).await.unwrap();
            }
            let same = other.scope(keyed("a", "b:c", async || {})).await;
            assert!(matches!(same, Err(LockError::Timeout { .. })), "{same:?}");
        }))
        .await
        .unwrap();
}
