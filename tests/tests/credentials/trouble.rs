//! A provider that fails, hangs or panics (the core tests one that blocks its thread), and a server that refuses its
//! credentials: the client reports the problem and tries again, and existing connections continue.

use std::time::Duration;

use auto_mutex::{Client, LockError, SetupError};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{LONG, becomes, finishes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Redis;

use crate::keeper::{Keeper, Mood};
use crate::rig::{Ground, users};

/// Whether the library has connections to `server`, and all of them are logged in as `user`.
fn are_all(server: &Redis, user: &str) -> bool {
    let users = users(server);
    !users.is_empty() && users.values().all(|it| it == user)
}

/// The connect timeout. It includes the provider's time, nearly all of which a hanging provider uses. A short stall
/// does not exceed it.
const TIME: Duration = Duration::from_secs(6);

/// The error messages for the moods of the provider.
const FAILS: &str = "the credentials provider failed: no token today";
const HANGS: &str = "the credentials provider has not answered within ";
const PANICS: &str = "the credentials provider panicked";

fn ground() -> Ground {
    let ground = Ground::one();
    for user in ["one", "two"] {
        ground.allow(user, "secret");
    }
    ground
}

fn moods() -> [(Mood, &'static str); 3] {
    [
        (Mood::Fails, FAILS),
        (Mood::Hangs, HANGS),
        (Mood::Panics, PANICS),
    ]
}

#[track_caller]
fn is_told_at_setup(ground: &Ground, mood: Mood, words: &str) {
    let keeper = Keeper::new("one", "secret");
    keeper.set_mood(mood);
    let config = ground.config(&keeper).connect_timeout(TIME);
    let error = finishes("set-up ends", || Client::connect(config).map(drop));
    let error = error.unwrap_err();
    let text = chain(&error);
    let SetupError::Credentials {
        address, source, ..
    } = error
    else {
        panic!("{text}");
    };
    let server = ground.servers()[0].port();
    assert_eq!(address, format!("127.0.0.1:{server}"));
    assert!(source.to_string().contains(words), "{text}");
    assert!(text.contains("no credentials for the lock store"), "{text}");
}

#[test]
fn at_set_up_it_is_a_clear_error() {
    let _watch = real_time();
    let ground = ground();
    for (mood, words) in moods() {
        is_told_at_setup(&ground, mood, words);
    }
}

/// Checks that a client recovers when its connection is lost while the provider is in this mood.
async fn is_told_and_tried_again(ground: &Ground, mood: Mood, words: &str) {
    let keeper = Keeper::new("one", "secret");
    let config = ground.config(&keeper).connect_timeout(TIME);
    let client = Client::connect(config.store_timeout(2 * TIME)).unwrap();
    let held = client.mutex("held").lock().await.unwrap();
    keeper.set_mood(mood);
    ground.servers()[0].kill_clients();
    // The test uses `try_lock`, because it fails sooner than a call that waits.
    becomes("what the provider does is told", async || {
        match soon("an answer", client.mutex("m").try_lock()).await {
            Err(LockError::Unavailable { source, .. }) => {
                let text = source.to_string();
                text.contains("no credentials for the lock store at 127.0.0.1")
                    && text.contains(words)
            }
            // The client has not noticed the lost connection yet.
            Ok(_) => false,
            other => panic!("{:?}", other.map(drop)),
        }
    })
    .await;
    keeper.set_mood(Mood::Gives);
    becomes("it is connected again", async || {
        client.mutex("m").lock().await.is_ok()
    })
    .await;
    held.check().expect("the lock is not lost");
    assert!(soon("released", held.unlock()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_loss_it_is_told_and_tried_again() {
    let _watch = real_time();
    let ground = ground();
    for (mood, words) in moods() {
        is_told_and_tried_again(&ground, mood, words).await;
    }
}

/// Checks that a connection continues when its token expires while the provider is in this mood.
async fn the_connection_goes_on(ground: &Ground, mood: Mood) {
    let keeper = Keeper::new("one", "secret");
    keeper.set_life(Duration::from_secs(2));
    let config = ground.config(&keeper).connect_timeout(TIME);
    let client = Client::connect(config).unwrap();
    let held = client.mutex("held").lock().await.unwrap();
    keeper.set_mood(mood);
    let before = keeper.times_asked();
    becomes("it is asked, several times", async || {
        keeper.times_asked() >= before + 2
    })
    .await;
    // The same connection still works, although the client considers the token expired.
    soon("confirmed", held.refresh(LONG)).await.unwrap();
    keeper.set("two", "secret");
    keeper.set_mood(Mood::Gives);
    becomes("it is renewed", async || {
        are_all(ground.servers()[0], "two")
    })
    .await;
    assert!(soon("released", held.unlock()).await.unwrap());
    soon("shut down", client.shutdown()).await;
    becomes("it is gone", async || users(ground.servers()[0]).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_fails_is_tried_again() {
    let _watch = real_time();
    for mood in [Mood::Fails, Mood::Panics] {
        the_connection_goes_on(&ground(), mood).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_new_credentials_keeps_the_old_ones() {
    let _watch = real_time();
    let ground = ground();
    let server = ground.servers()[0];
    let keeper = Keeper::new("one", "secret");
    keeper.set_life(Duration::from_secs(2));
    let client = ground.client(&keeper);
    let held = client.mutex("held").lock().await.unwrap();
    let [before] = <[_; 1]>::try_from(users(server).into_keys().collect::<Vec<_>>()).unwrap();
    keeper.set("two", "wrong");
    becomes("it is refused, several times", async || {
        let log = server.command(&["ACL", "LOG"]);
        let refused = log
            .list()
            .iter()
            .flat_map(|it| it.list().chunks(2).map(<[_]>::to_vec));
        let counts = refused
            .filter(|it| it[0].text() == "count")
            .map(|it| it[1].int());
        counts.sum::<i64>() >= 2
    })
    .await;
    soon("confirmed", held.refresh(LONG)).await.unwrap();
    keeper.set("two", "secret");
    becomes("it is renewed", async || are_all(server, "two")).await;
    let after = users(server).into_keys().collect::<Vec<_>>();
    assert_eq!(after, [before], "on the same connection");
    assert!(soon("released", held.unlock()).await.unwrap());
}
