//! Tests on a store in this process; tests with real servers are in `cli/tests/real`.

// For `memory://`.
use auto_mutex as _;
use auto_mutex_core::{HoldKind, LockKind};

use super::*;

fn operator(url: &str) -> (Client, Operator) {
    (
        Client::connect(url).unwrap(),
        Operator::connect(url).unwrap(),
    )
}

fn state(operator: &Operator, name: &str) -> Lock {
    operator.inspect(&[name]).unwrap().remove(0).unwrap()
}

#[test]
fn a_lock_of_any_kind_is_described() {
    let (client, operator) = operator("memory://operator-kinds");
    let mutex = client.mutex("m").blocking_lock().unwrap();
    let permit = client.semaphore("s", 3).blocking_acquire().unwrap();
    let reader = client.rw_lock("r").blocking_read().unwrap();
    for (name, kind, capacity) in [
        ("m", LockKind::Mutex, 1),
        ("s", LockKind::Semaphore, 3),
        ("r", LockKind::RwLock, 1 << 30),
    ] {
        let lock = state(&operator, name);
        assert_eq!((lock.kind, lock.capacity), (Some(kind), Some(capacity)));
        assert_eq!((lock.used, lock.holders.len()), (1, 1));
        let holder = &lock.holders[0];
        assert_eq!(holder.who.as_ref().unwrap().pid, std::process::id());
        assert_eq!(Some(holder.token), lock.token);
        assert!(holder.lease_left > std::time::Duration::ZERO);
    }
    assert_eq!(
        state(&operator, "m").holders[0].token,
        mutex.fencing_token()
    );
    drop((mutex, permit, reader));
    let lock = state(&operator, "never");
    assert!(!lock.is_in_use() && lock.kind.is_none() && lock.token.is_none());
}

/// Both have capacity 0.
#[test]
fn a_semaphore_without_permits_is_no_condition_variable() {
    let (client, operator) = operator("memory://operator-tokens");
    let semaphore = client.semaphore("tokens", 0);
    semaphore.blocking_signal("a").unwrap();
    let permit = semaphore.blocking_acquire().unwrap();
    let lock = state(&operator, "tokens");
    assert_eq!(
        (lock.kind, lock.capacity),
        (Some(LockKind::Semaphore), Some(0))
    );
    let info = semaphore.blocking_info().unwrap();
    assert_eq!(info.holders[0].kind, Some(HoldKind::Permit));
    drop(permit);

    let guard = client.mutex("m").blocking_lock().unwrap();
    let waits = std::thread::spawn({
        let client = client.clone();
        move || client.condvar("m").blocking_wait(guard).map(drop)
    });
    let ends = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let lock = loop {
        // A name is accepted in the form in which it is listed.
        let names: Vec<_> = operator.names("m:*").flat_map(Result::unwrap).collect();
        let mut locks = names.iter().map(|name| state(&operator, name));
        match locks.find(|lock| !lock.waiters.is_empty()) {
            Some(lock) => break lock,
            None => assert!(std::time::Instant::now() < ends, "nobody waits"),
        }
    };
    assert_eq!(
        (lock.kind, lock.capacity),
        (Some(LockKind::Condvar), Some(0))
    );
    client.condvar("m").blocking_notify_one().unwrap();
    waits.join().unwrap().unwrap();
}

#[test]
fn a_seat_has_a_leader_standbys_and_watchers() {
    let (client, operator) = operator("memory://operator-seat");
    let others = [(); 2].map(|()| Client::connect("memory://operator-seat").unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let seen = |is_seen: &dyn Fn(&Lock) -> bool| {
        let ends = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let lock = state(&operator, "seat");
            if is_seen(&lock) {
                return lock;
            }
            assert!(std::time::Instant::now() < ends, "{lock:?}");
        }
    };
    // A standby that holds a lock for which another one waits.
    let clients = [&client, &others[0], &others[1]].map(Clone::clone);
    for (index, client) in clients.into_iter().enumerate() {
        runtime.spawn(async move {
            let _held = client
                .mutex(format!("held:{index}"))
                .reentrant()
                .lock()
                .await?;
            let seat = client.leader("seat").value(format!("10.0.0.{index} é:9"));
            let body = async |_: &auto_mutex_core::Term| std::future::pending().await;
            seat.lead::<(), LockError>(body).await
        });
        match index {
            0 => seen(&|lock| lock.leader().is_some()),
            _ => seen(&|lock| lock.waiters.len() == index),
        };
    }
    let mut watch = client.leader("seat").watch();
    let leader = watch.blocking_changed().unwrap().unwrap();
    runtime.spawn(async move { watch.changed().await });
    let lock = seen(&|lock| lock.watchers == 1);
    assert!(lock.is_seat());
    let hold = lock.leader().unwrap();
    assert_eq!((hold.token, hold.since), (leader.term, leader.since));
    assert_eq!(hold.value.as_deref(), Some("10.0.0.0 é:9"));
    let standbys = lock.waiters.iter().map(|wait| wait.value.as_deref());
    let standbys: Vec<_> = standbys.map(Option::unwrap).collect();
    assert_eq!(standbys, ["10.0.0.1 é:9", "10.0.0.2 é:9"]);
    assert_eq!(lock.oldest_wait(), None);
    assert!(lock.held().is_some());

    let mut names: Vec<_> = operator.names("*").flat_map(Result::unwrap).collect();
    names.sort();
    assert_eq!(names, ["held:0", "held:1", "held:2", "seat"]);
    let chains = |locks| {
        let waits = operator.waits(locks).unwrap();
        let chains = waits.chains().into_iter().map(|chain| {
            let hops = chain.hops.iter();
            hops.map(|hop| (hop.depth, hop.lock.name.clone()))
                .collect::<Vec<_>>()
        });
        chains.collect::<Vec<_>>()
    };
    let seat = (0, "seat".to_owned());
    assert_eq!(chains(vec![lock.clone()]), [[seat.clone(), seat.clone()]]);
    let other = Client::connect("memory://operator-seat").unwrap();
    let waits = std::thread::spawn(move || other.mutex("held:1").blocking_lock().map(drop));
    let waited = loop {
        let waited = state(&operator, "held:1");
        if !waited.waiters.is_empty() {
            break waited;
        }
    };
    // Below the standby that holds the lock.
    let held = (1, "held:1".to_owned());
    let both = vec![lock.clone(), waited.clone()];
    assert_eq!(chains(both), [[seat.clone(), held, seat]]);
    let waits_for = operator.waits(vec![lock, waited]).unwrap();
    let hops = waits_for.to_lock("held:1").unwrap().hops;
    let names: Vec<_> = hops.iter().map(|hop| &*hop.lock.name).collect();
    assert_eq!(names, ["seat", "held:1"]);

    drop(runtime);
    waits.join().unwrap().unwrap();
    let lock = seen(&|lock| !lock.is_in_use());
    assert!(!lock.is_seat() && lock.leader().is_none());
    let mutex = client.mutex("seat").blocking_lock().unwrap();
    assert_eq!(state(&operator, "seat").kind, Some(LockKind::Mutex));
    assert_eq!(state(&operator, "seat").holders[0].value, None);
    drop(mutex);
}

#[test]
fn names_are_listed_by_pattern() {
    let (client, operator) = operator("memory://operator-names");
    let _held: Vec<_> = ["a:1", "a:2", "b:1", "a b"]
        .map(|name| client.mutex(name).blocking_lock().unwrap())
        .into();
    let listed = |pattern: &str| {
        let mut names: Vec<_> = operator.names(pattern).flat_map(Result::unwrap).collect();
        names.sort();
        names
    };
    assert_eq!(listed("a:*"), ["a:1", "a:2"]);
    assert_eq!(listed("*"), ["a%20b", "a:1", "a:2", "b:1"]);
    assert_eq!(listed("a b"), ["a%20b"]);
    let config = auto_mutex_core::Config::new("memory://operator-names").unwrap();
    let shop = Client::connect(config.namespace("le shop")).unwrap();
    let accented = shop.mutex("café a").blocking_lock().unwrap();
    for name in ["le%20shop:café%20a", "le%20shop:caf%C3%A9%20a"] {
        assert_eq!(state(&operator, name).holders.len(), 1, "{name}");
    }
    let prefix = super::prefix("le shop");
    assert_eq!(listed(&format!("{prefix}*é*")), ["le%20shop:caf%C3%A9%20a"]);
    drop(accented);
    let odd = client.mutex("50%:x").blocking_lock().unwrap();
    for name in ["50%:x", "50%25:x"] {
        assert_eq!(state(&operator, name).holders.len(), 1, "{name}");
    }
    drop(odd);
    // `inspect` accepts a name both escaped and unescaped.
    for name in ["a b", "a%20b"] {
        assert_eq!(state(&operator, name).holders.len(), 1, "{name}");
    }
}

#[test]
fn a_kick_breaks_one_hold_and_no_newer_one() {
    let (client, operator) = operator("memory://operator-kick");
    let semaphore = client.semaphore("s", 2);
    let [first, second] = [(); 2].map(|()| semaphore.blocking_acquire().unwrap());
    let token = state(&operator, "s").holders[0].token;
    assert_eq!(state(&operator, "s").kicked, None);
    assert!(operator.kick_by("s", token, "alice").unwrap());
    let kicked = state(&operator, "s").kicked.unwrap();
    let by = kicked.by.unwrap();
    assert_eq!(
        (kicked.token, by.pid, &*by.site),
        (token, std::process::id(), "alice")
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(first.lost());
    assert!(second.check().is_ok());
    let third = semaphore.blocking_acquire().unwrap();
    assert!(!operator.kick("s", token).unwrap());
    assert!(second.check().is_ok() && third.check().is_ok());
    assert!(matches!(
        operator.kick("", token),
        Err(LockError::InvalidName { .. })
    ));
}

#[test]
fn it_works_inside_a_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (_client, operator) = operator("memory://operator-runtime");
        assert!(operator.inspect(&["x"]).unwrap()[0].is_ok());
        assert!(!operator.kick("x", 1).unwrap());
    });
}
