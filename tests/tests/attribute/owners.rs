//! `owner`: calls with the same owner share the lock, whatever their tasks.

use std::fmt;
use std::sync::Arc;

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::stores::TestStore;
use tokio::sync::Barrier;

use crate::support::{client, wrong_option};

struct Session(u32);

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session-{}", self.0)
    }
}

#[auto_mutex(ns = "suite", name = "cart", owner = session, guard = g)]
async fn add(session: &Session, inside: impl AsyncFnOnce()) -> Result<u64, LockError> {
    inside().await;
    Ok(g.fencing_token())
}

fn spawn(
    client: &Client,
    session: u32,
    barrier: &Arc<Barrier>,
) -> tokio::task::JoinHandle<Result<u64, LockError>> {
    let barrier = barrier.clone();
    tokio::spawn(client.scope(async move {
        let inside = async || {
            barrier.wait().await;
        };
        add(&Session(session), inside).await
    }))
}

pub(crate) async fn tasks_of_an_owner_share_the_lock(store: &dyn TestStore) {
    let client = store.member();
    let barrier = Arc::new(Barrier::new(3));
    let tasks: Vec<_> = (0..3).map(|_| spawn(&client, 1, &barrier)).collect();
    let mut tokens = Vec::new();
    for task in tasks {
        let end = soon("all are inside at once", task).await;
        tokens.push(end.expect("no panic").expect("the lock"));
    }
    assert_eq!(tokens, [tokens[0]; 3], "one hold");
    becomes("the last one releases it", async || {
        !client.mutex("cart").is_locked().await.expect("an answer")
    })
    .await;
}

#[test]
fn another_owner_inside_is_told_that_it_would_wait_for_itself() {
    #[auto_mutex(name = "desk", owner = owner)]
    fn sit(owner: u32, inside: impl FnOnce() -> Result<u32, LockError>) -> Result<u32, LockError> {
        Ok(inside()? + owner)
    }
    #[auto_mutex(name = "desk")]
    fn anybody() -> Result<u32, LockError> {
        Ok(0)
    }
    let client = client();
    let same = client.blocking_scope(|| sit(1, || sit(1, anybody)));
    assert_eq!(same.expect("the owner's, and the task's"), 2);
    let other = client.blocking_scope(|| sit(1, || sit(2, || panic!("two owners inside"))));
    let error = other.expect_err("the first one is inside");
    assert!(matches!(error, LockError::Deadlock { .. }), "{error}");
}

#[test]
fn an_owner_without_a_name_is_refused() {
    struct Broken;
    impl fmt::Display for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("half")?;
            Err(fmt::Error)
        }
    }
    #[auto_mutex(owner = "")]
    fn empty() -> Result<(), LockError> {
        panic!("never gets here")
    }
    #[auto_mutex(owner = Broken)]
    fn broken() -> Result<(), LockError> {
        panic!("never gets here")
    }
    for call in [empty, broken] {
        let error = client().blocking_scope(call).unwrap_err();
        assert_eq!(wrong_option(&error), "owner");
    }
}
