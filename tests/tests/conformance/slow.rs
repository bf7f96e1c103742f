//! `Config::slow`: long waits and long holds are reported, with the caller, its place and the time.

use crate::prelude::*;

/// Returns the warnings about a lock.
fn told(name: &str, what: &str) -> Vec<String> {
    hears::told(&[&format!("name=suite:{name} "), what])
}

fn member(store: &dyn TestStore, slow: Duration) -> Client {
    Client::connect(store.config().slow(slow)).expect("a client")
}

#[auto_mutex(name = "slow", key = name)]
async fn hold(name: &str, inside: impl AsyncFnOnce()) -> Result<(), LockError> {
    inside().await;
    Ok(())
}

const SOON: Duration = Duration::from_millis(40);

pub(crate) async fn a_long_wait_and_a_long_hold_are_told(store: &dyn TestStore) {
    let key = listen();
    let name = format!("slow:{key}");
    let (holder, client) = (member(store, SOON), member(store, SOON));
    let call = holder.scope(hold(&key, async || {
        let key = key.clone();
        let waits = client.scope(async move { hold(&key, async || {}).await });
        let waits = tokio::spawn(waits);
        becomes!(
            "both are told, and once more after that",
            told(&name, WAITS).len() >= 2 && told(&name, HOLDS).len() >= 2
        );
        waits.abort();
    }));
    soon("the call ends", call).await.expect("the lock");
    for text in told(&name, "") {
        for part in ["slow.rs:", "(pid ", "::hold at "] {
            assert!(text.contains(part), "{text}");
        }
    }
    // Before the second warning, an answer of the store has named the holder and its place.
    let text = told(&name, WAITS).pop().expect("told");
    let parts = ["waited=", "holder=", "calls=1"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    let text = told(&name, HOLDS).pop().expect("told");
    assert!(text.contains("held=") && text.contains("token="), "{text}");
}

pub(crate) async fn a_task_that_waits_for_its_own_guard_is_told(store: &dyn TestStore) {
    const HINT: &str = "hint=\"the same task took this lock by hand";
    let (key, client) = (listen(), member(store, SOON));
    let mutex = client.mutex(&key);
    let task = tokio::spawn(async move {
        // A busy machine may warn about this wait too, without the hint.
        let _guard = mutex.lock().await.expect("free");
        mutex.lock().await.map(drop)
    });
    becomes!(
        "the wait is told, with the hint",
        told(&key, WAITS).iter().any(|text| text.contains(HINT))
    );
    task.abort();
    // Another task that waits for a guard does not get this hint.
    let (key, client) = (listen(), member(store, SOON));
    let guard = client.mutex(&key).lock().await.expect("free");
    let other = client.mutex(&key);
    let task = tokio::spawn(async move { other.lock().await.map(drop) });
    becomes!("the wait is told", !told(&key, WAITS).is_empty());
    drop(guard);
    soon("the task", task).await.unwrap().unwrap();
    assert_eq!(told(&key, HINT), [""; 0]);
}

pub(crate) async fn the_place_in_line_is_told(store: &dyn TestStore) {
    let name = listen();
    let mutexes = [(); 3].map(|()| member(store, SOON).mutex(&name));
    let guard = mutexes[0].lock().await.unwrap();
    let mut waiting = Vec::new();
    for place in [1, 2] {
        waiting.push(with(&mutexes[place], |mutex| async move {
            mutex.lock().await.map(drop)
        }));
        waiters(&mutexes[0], place).await;
    }
    becomes!("both places are told", {
        let told = told(&name, WAITS);
        let place = |place: &str| told.iter().any(|text| text.contains(place));
        place("place=1 ") && place("place=2 ")
    });
    drop(guard);
    for taken in ended("their turns", waiting).await {
        taken.unwrap();
    }
}

pub(crate) async fn zero_turns_the_warnings_off(store: &dyn TestStore) {
    let (silent, leader, loud) = (listen(), listen(), listen());
    let (quiet, client) = (member(store, Duration::ZERO), member(store, SOON));
    // A lock that never expires is intended to be held, and waited for, for a long time.
    let mutexes = [
        quiet.mutex(&silent),
        client.mutex(&leader).never_expire(),
        client.mutex(&loud),
    ];
    let mut guards = Vec::new();
    for mutex in &mutexes {
        guards.push(mutex.lock().await.expect("free"));
    }
    let waits = mutexes.map(|mutex| tokio::spawn(async move { mutex.lock().await.map(drop) }));
    becomes!("the other one is told", told(&loud, WAITS).len() >= 2);
    assert_eq!(told(&silent, ""), [""; 0]);
    assert_eq!(told(&leader, ""), [""; 0]);
    drop(guards);
    for taken in ended("their turns", waits).await {
        taken.unwrap();
    }
}
