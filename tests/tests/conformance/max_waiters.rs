//! Load shedding: calls that are refused because too many wait.

use crate::prelude::*;

/// Starts `count` calls that wait for the lock, and ends when all of them do.
async fn crowd(client: &Client, mutex: &Mutex, count: usize) -> Vec<tokio::task::JoinHandle<()>> {
    let call = |mutex: Mutex| async move { drop(mutex.lock().await) };
    let before = client.health().waiting;
    let calls = (0..count).map(|_| with(mutex, call)).collect();
    becomes!("they wait", client.health().waiting == before + count);
    calls
}

fn refused(result: Result<MutexGuard, LockError>) -> u64 {
    match result {
        Err(error @ LockError::Busy { waiting, .. }) => {
            assert!(error.is_timeout() && error.is_transient());
            waiting
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn one_call_more_is_refused_and_another_has_its_place_later(
    store: &dyn TestStore,
) {
    let [holder, client] = store.members();
    let guard = holder.mutex("m").lock().await.unwrap();
    let mutex = client.mutex("m").max_waiters(3);
    let mut calls = crowd(&client, &mutex, 3).await;
    waiters(&holder.mutex("m"), 1).await;
    assert_eq!(refused(soon("an answer", mutex.lock()).await), 3);
    let blocking = mutex.clone();
    let blocked = store.thread(move || blocking.blocking_lock());
    assert_eq!(refused(blocked.await.unwrap()), 3);
    // Calls with another limit, or none, wait.
    calls.extend(crowd(&client, &client.mutex("m").max_waiters(5), 1).await);
    calls.extend(crowd(&client, &client.mutex("m"), 1).await);
    for call in calls.drain(..3) {
        call.abort();
    }
    becomes!("two wait", client.health().waiting == 2);
    calls.extend(crowd(&client, &mutex, 1).await);
    assert_eq!(refused(soon("an answer", mutex.lock()).await), 3);
    guard.unlock().await.unwrap();
    for call in calls {
        soon("the lock", call).await.unwrap();
    }
    drop(soon("a free lock", mutex.lock()).await.unwrap());
}

pub(crate) async fn calls_that_come_together_wait_if_one_of_them_gets_it(store: &dyn TestStore) {
    let client = store.member();
    let mutex = client.mutex("m").max_waiters(1);
    let call = async || mutex.lock().await.map(drop);
    let (first, second) = soon("both", async { tokio::join!(call(), call()) }).await;
    first.and(second).unwrap();
}

pub(crate) async fn the_client_sets_the_limit_of_all(store: &dyn TestStore) {
    let holder = store.member();
    let client = Client::connect(store.config().max_waiters(1)).unwrap();
    let guard = holder.semaphore("s", 1).acquire().await.unwrap();
    let semaphore = client.semaphore("s", 1);
    let waits = with(&semaphore, async |it: Semaphore| drop(it.acquire().await));
    waiters(&holder.semaphore("s", 1), 1).await;
    let error = soon("an answer", semaphore.acquire()).await.unwrap_err();
    is!(error, LockError::Busy { waiting: 1, .. });
    guard.release().await.unwrap();
    soon("the permit", waits).await.unwrap();
    // Standbys are never too many.
    let guard = holder.mutex("l").lock().await.unwrap();
    let lead = |seat: Leader| async move { seat.lead(async move |_: &Term| Ok(())).await };
    let leads = [(); 3].map(|()| with(&client.leader("l"), lead));
    becomes!("they stand", client.health().waiting == 3);
    guard.unlock().await.unwrap();
    for lead in leads {
        let led: Result<(), LockError> = soon("it leads", lead).await.unwrap();
        led.unwrap();
    }
    is!(
        client.mutex("m").max_waiters(0).lock().await,
        Err(LockError::InvalidOption {
            option: "max_waiters",
            ..
        })
    );
    is!(
        Client::connect(store.config().max_waiters(0)),
        Err(SetupError::InvalidOption { .. })
    );
}

pub(crate) async fn calls_of_other_processes_count(store: &dyn TestStore) {
    let [holder, other, client] = store.members();
    let guard = holder.mutex("m").lock().await.unwrap();
    let calls = crowd(&other, &other.mutex("m").max_waiters(100), 5).await;
    let asked = holder.mutex("m");
    becomes!("five wait", asked.info().await.unwrap().waiting() == 5);
    let info = asked.info().await.unwrap();
    assert_eq!((info.waiters.len(), info.waiters[0].calls), (1, 5));
    // The first call has to ask.
    let mutex = client.mutex("m").max_waiters(5);
    assert_eq!(refused(soon("an answer", mutex.lock()).await), 5);
    assert_eq!(refused(soon("an answer", mutex.lock()).await), 5);
    let more = crowd(&client, &client.mutex("m").max_waiters(7), 2).await;
    becomes!("all wait", asked.info().await.unwrap().waiting() == 7);
    guard.unlock().await.unwrap();
    for call in calls.into_iter().chain(more) {
        soon("the lock", call).await.unwrap();
    }
}

pub(crate) async fn info_counts_all_calls_that_wait(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let guard = holder.rw_lock("r").write().await.unwrap();
    let lock = client.rw_lock("r");
    let write = async |lock: RwLock| drop(lock.write().await);
    let calls: Vec<_> = (0..4).map(|_| with(&lock, write)).collect();
    let asked = holder.rw_lock("r");
    becomes!("four wait", asked.info().await.unwrap().waiting() == 4);
    calls[3].abort();
    becomes!("three wait", asked.info().await.unwrap().waiting() == 3);
    guard.unlock().await.unwrap();
    for call in calls {
        let _ = soon("the lock", call).await;
    }
    becomes!("nobody waits", asked.info().await.unwrap().waiting() == 0);
}
