//! A user who may use all channels and no key.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;

use auto_mutex_core::{Client, Config, LockError, LossCause, MutexGuard};
use redis::Connection;
use tokio::sync::watch;
use tokio::time::timeout;

use super::server::{LONG, Server, run};

const WAITERS: usize = 6;
/// Later than the token of any grant.
const FAR: u64 = 1_900_000_000_000_000;

/// Publishes what can be made of each message that it hears: copies, and messages with another text, to everybody.
/// Tells how many grants it has answered like this.
fn forge(mut ears: Connection, mut mouth: Connection, answered: &watch::Sender<usize>) -> usize {
    let mut ears = ears.as_pubsub();
    ears.psubscribe("*").unwrap();
    answered.send_replace(0);
    let (mut channels, mut texts) = (BTreeSet::new(), BTreeSet::new());
    let mut count = 0;
    loop {
        let message = ears.get_message().unwrap();
        let channel = message.get_channel_name().to_owned();
        if channel == "end" {
            return count;
        }
        channels.insert(channel);
        let text: String = message.get_payload().unwrap();
        if !texts.insert(text.clone()) {
            continue;
        }
        let words: Vec<_> = text.split(' ').collect();
        // A client publishes an empty text at set-up.
        let [kind, id, ..] = words[..] else {
            continue;
        };
        let name = words[if kind == "grant" { 5 } else { 2 }];
        let mut forged: BTreeSet<_> = texts.clone();
        forged.insert(format!("lost {id} {name}"));
        for counter in 1..4 {
            forged.insert(format!("grant {id} {FAR} {counter} 2000 {name}"));
        }
        if let ["grant", id, token, counter, ms, name] = words[..] {
            let later = token.parse::<u64>().unwrap() + 1;
            forged.insert(format!("grant {id} {later} {counter} {ms} {name}"));
        }
        for forged in &forged {
            for channel in &channels {
                run::<i64>(&mut mouth, &["PUBLISH", channel, forged]);
                count += 1;
            }
        }
        texts.extend(forged);
        if kind == "grant" {
            answered.send_modify(|answered| *answered += 1);
        }
    }
}

#[tokio::test]
async fn a_stranger_on_the_channels_changes_nothing() {
    let server = Server::start();
    let rule = "ACL SETUSER stranger on >canary resetkeys resetchannels &* -@all +psubscribe +publish +subscribe";
    run::<()>(
        &mut server.connection(),
        &rule.split(' ').collect::<Vec<_>>(),
    );
    let stranger = || {
        let url = format!("{}?user=stranger&pass=canary", server.url());
        redis::Client::open(url).unwrap().get_connection().unwrap()
    };
    let state: Result<(), _> = redis::cmd("GET")
        .arg("auto_mutex:{m}")
        .query(&mut stranger());
    assert_eq!(
        state.unwrap_err().code(),
        Some("NOPERM"),
        "it may read keys"
    );
    let (answered, mut ready) = watch::channel(usize::MAX);
    let (ears, mouth) = (stranger(), stranger());
    let forger = thread::spawn(move || forge(ears, mouth, &answered));
    ready.changed().await.unwrap();

    let connect = || Client::connect(Config::new(server.url()).unwrap()).unwrap();
    let clients: Arc<Vec<_>> = Arc::new((0..=WAITERS).map(|_| connect()).collect());
    let first = clients[0].mutex("m").lock().await.unwrap();
    let inside = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 1..=WAITERS {
        let (all, inside, mut answered) = (clients.clone(), inside.clone(), ready.clone());
        waiters.push(tokio::spawn(async move {
            let guard = Arc::new(all[number].mutex("m").lock().await.unwrap());
            {
                let mut inside = inside.lock().unwrap();
                let is_over = |other: &Arc<MutexGuard>| other.check().is_err();
                assert!(inside.iter().all(is_over), "two bodies run");
                inside.push(guard.clone());
            }
            // The forger has heard of this grant; then each client has received what was forged, before its next reply.
            answered
                .wait_for(|answered| *answered >= number)
                .await
                .unwrap();
            for client in &**all {
                client.mutex("beside").is_locked().await.unwrap();
            }
            assert!(guard.fencing_token() < FAR * 1024, "a token was raised");
            let held = guard.check();
            inside.lock().unwrap().retain(|it| !Arc::ptr_eq(it, &guard));
            let unlocked = Arc::into_inner(guard).unwrap().unlock().await;
            match held {
                // A grant by message is short: while the machine stands still, it ends.
                Err(LockError::Lost { cause, .. }) => assert_eq!(cause, LossCause::NotRenewed),
                held => {
                    held.unwrap();
                    assert!(unlocked.unwrap());
                }
            }
        }));
        // In this order, so that the fourth is the next to become one of the first three.
        while clients[0].mutex("m").info().await.unwrap().waiters.len() < number {
            tokio::task::yield_now().await;
        }
    }
    // Only a waiter that has touched is told when it becomes one of the first three, which the stranger hears.
    let mut admin = server.connection();
    let mut touches = || {
        let stats: String = run(&mut admin, &["INFO", "commandstats"]);
        let (_, calls) = stats.split_once("cmdstat_evalsha:calls=").unwrap();
        calls.split(',').next().unwrap().parse::<usize>().unwrap()
    };
    let before = touches();
    while touches() < before + WAITERS + 2 {
        tokio::task::yield_now().await;
    }
    first.unlock().await.unwrap();
    for waiter in waiters {
        timeout(LONG, waiter)
            .await
            .expect("nobody is served")
            .unwrap();
    }
    run::<()>(&mut server.connection(), &["PUBLISH", "end", ""]);
    let forged = forger.join().unwrap();
    assert!(forged > 100, "it forged only {forged}");
}
