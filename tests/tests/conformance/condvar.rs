//! Waiting until some member, on any machine, signals a change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::prelude::*;

const SHORT: Duration = Duration::from_millis(30);

/// Returns a task that holds the lock and waits for a notification. The task is registered when this returns.
async fn waiter(client: Client, woken: mpsc::UnboundedSender<u32>, number: u32) -> JoinHandle<()> {
    let guard = client.mutex("m").lock().await.unwrap();
    let task = with(&client, |client| async move {
        let guard = client.condvar("m").wait(guard).await.unwrap();
        woken.send(number).unwrap();
        guard.unlock().await.unwrap();
    });
    let mutex = client.mutex("m");
    becomes!("it has let go", !mutex.is_locked().await.unwrap());
    task
}

pub(crate) async fn a_wait_releases_the_lock_and_takes_it_again(store: &dyn TestStore) {
    let [a, b] = store.members();
    let guard = a.mutex("m").lock().await.unwrap();
    let before = guard.fencing_token();
    let task = tokio::spawn(async move { a.condvar("m").wait(guard).await.unwrap() });
    let inside = soon("the lock", b.mutex("m").lock()).await.unwrap();
    let between = inside.fencing_token();
    assert!(b.condvar("m").notify_one().await.unwrap());
    assert!(!task.is_finished(), "the lock is not free yet");
    inside.unlock().await.unwrap();
    let guard = soon("the waiter", task).await.unwrap();
    assert!(before < between && between < guard.fencing_token());
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
}

pub(crate) async fn no_notification_is_lost(store: &dyn TestStore) {
    // Each round is a few requests, which take long where many tests share a processor.
    let rounds = if store.has_virtual_time() { 150 } else { 30 };
    let turn = Arc::new(AtomicU32::new(0));
    // Two members take turns. A lost notification would leave both waiting.
    let player = |client: Client, own: u32| {
        let turn = turn.clone();
        tokio::spawn(async move {
            let condvar = client.condvar("m");
            let mut guard = client.mutex("m").lock().await.unwrap();
            loop {
                let now = turn.load(Ordering::SeqCst);
                if now >= rounds {
                    return condvar.notify_all().await.unwrap();
                }
                if now % 2 == own {
                    turn.store(now + 1, Ordering::SeqCst);
                    condvar.notify_one().await.unwrap();
                }
                guard = condvar.wait(guard).await.unwrap();
            }
        })
    };
    let players = [player(store.member(), 0), player(store.member(), 1)];
    ended("all rounds", players).await;
}

pub(crate) async fn waiters_are_woken_in_order(store: &dyn TestStore) {
    let (sender, mut woken) = mpsc::unbounded_channel();
    let mut tasks = Vec::new();
    let (members, notifier) = (store.members::<2>(), store.member());
    let heard = Heard::from_now();
    for number in 0..6 {
        let member = members[number as usize % 2].clone();
        tasks.push(waiter(member, sender.clone(), number).await);
    }
    for number in 0..6 {
        assert!(notifier.condvar("m").notify_one().await.unwrap());
        let next = soon("the next one", woken.recv()).await;
        heard.assert_eq(&next, &Some(number));
    }
    assert!(!notifier.condvar("m").notify_one().await.unwrap());
}

pub(crate) async fn notify_all_wakes_everybody(store: &dyn TestStore) {
    let (sender, mut woken) = mpsc::unbounded_channel();
    let mut tasks = Vec::new();
    let members = store.members::<3>();
    for number in 0..9 {
        let member = members[number as usize % 3].clone();
        tasks.push(waiter(member, sender.clone(), number).await);
    }
    assert_eq!(members[0].condvar("m").notify_all().await.unwrap(), 9);
    for _ in 0..9 {
        soon("everybody", woken.recv()).await.unwrap();
    }
    ended("the end", tasks).await;
}

pub(crate) async fn a_notification_for_nobody_is_not_kept(store: &dyn TestStore) {
    let [a, b] = store.members();
    assert!(!b.condvar("m").notify_one().await.unwrap());
    assert_eq!(b.condvar("m").notify_all().await.unwrap(), 0);
    let guard = a.mutex("m").lock().await.unwrap();
    let (guard, result) = a.condvar("m").wait_timeout(guard, SHORT).await.unwrap();
    assert!(result.timed_out());
    guard.check().unwrap();
    assert!(b.mutex("m").try_lock().await.unwrap().is_none());
}

pub(crate) async fn a_waiter_that_gave_up_takes_nothing(store: &dyn TestStore) {
    let (sender, mut woken) = mpsc::unbounded_channel();
    let members = store.members::<2>();
    let first = waiter(members[0].clone(), sender.clone(), 1).await;
    let second = waiter(members[1].clone(), sender.clone(), 2).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert!(members[0].condvar("m").notify_one().await.unwrap());
    assert_eq!(soon("the second one", woken.recv()).await, Some(2));
    soon("it lets go of the lock", second).await.unwrap();
    let condvar = members[0].condvar("m");
    becomes!("nobody is left", !condvar.notify_one().await.unwrap());
    assert!(members[0].mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn a_woken_waiter_that_gives_up_on_the_lock_passes_the_notification_on(
    store: &dyn TestStore,
) {
    let (sender, mut woken) = mpsc::unbounded_channel();
    let members = store.members::<3>();
    let first = waiter(members[0].clone(), sender.clone(), 1).await;
    let _second = waiter(members[1].clone(), sender.clone(), 2).await;
    let mutex = members[2].mutex("m");
    let inside = mutex.lock().await.unwrap();
    assert!(members[2].condvar("m").notify_one().await.unwrap());
    waiters(&mutex, 1).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    inside.unlock().await.unwrap();
    assert_eq!(soon("the second one", woken.recv()).await, Some(2));
}

pub(crate) async fn a_wait_needs_the_lock_for_itself(store: &dyn TestStore) {
    let client = store.member();
    let mutex = client.mutex("m").reentrant();
    let task = tokio::spawn(async move {
        let _outer = mutex.lock().await.unwrap();
        let inner = mutex.lock().await.unwrap();
        let refused = client.condvar("m").wait(inner).await;
        is!(refused, Err(LockError::AlreadyHeld { .. }));
        let guard = client.mutex("other").lock().await.unwrap();
        client.mutex("other").force_unlock().await.unwrap();
        guard.lost().await;
        let lost = client.condvar("m").wait(guard).await;
        is!(lost, Err(LockError::Lost { .. }));
    });
    soon("the task", task).await.unwrap();
}

pub(crate) async fn threads_wait_and_notify_too(store: &dyn TestStore) {
    let [a, b] = store.members();
    let guard = a.mutex("m").lock().await.unwrap();
    let waits = store.thread(move || {
        let guard = a.condvar("m").blocking_wait(guard).unwrap();
        let timed = a.condvar("m").blocking_wait_timeout(guard, SHORT).unwrap();
        assert!(timed.1.timed_out());
        assert!(timed.0.blocking_unlock().unwrap());
    });
    let notifies = store.thread(move || {
        let _inside: MutexGuard = b.mutex("m").blocking_lock().unwrap();
        assert!(b.condvar("m").blocking_notify_one().unwrap());
        assert_eq!(b.condvar("m").blocking_notify_all().unwrap(), 0);
    });
    notifies.await.unwrap();
    waits.await.unwrap();
}

pub(crate) async fn an_owner_is_the_same_after_a_wait(store: &dyn TestStore) {
    let [a, b] = store.members();
    let owned = a.mutex("m").owner("o");
    let guard = owned.lock().await.unwrap();
    let task = tokio::spawn(async move { a.condvar("m").wait(guard).await.unwrap() });
    // If only a minority of a quorum has queued the waiter so far, `notify_one` may wake it and yet return false.
    becomes!(
        "somebody waited",
        b.condvar("m").notify_one().await.unwrap() || task.is_finished()
    );
    let guard = soon("the waiter", task).await.unwrap();
    let same = owned.try_lock().await.unwrap();
    assert_eq!(same.unwrap().fencing_token(), guard.fencing_token());
}

pub(crate) async fn after_a_wait_the_handle_has_the_lock_still(store: &dyn TestStore) {
    let client = store.member();
    let task = tokio::spawn(async move {
        let (mutex, condvar) = (client.mutex("m").reentrant(), client.condvar("m"));
        let guard = mutex.lock().await.unwrap();
        let (guard, _) = condvar.wait_timeout(guard, SHORT).await.unwrap();
        assert!(mutex.is_owned().await.unwrap());
        let again = soon("it is ours", mutex.lock()).await.unwrap();
        assert_eq!(again.fencing_token(), guard.fencing_token());
        drop(again);
        // After a wait, the handle can refresh and release the lock, as after `lock`.
        let (guard, _) = condvar.wait_timeout(guard, SHORT).await.unwrap();
        mutex.refresh(Duration::from_secs(60)).await.unwrap();
        assert!(mutex.unlock().await.unwrap());
        assert!(guard.is_lost(), "its handle has released it");
    });
    soon("the task", task).await.unwrap();
}
