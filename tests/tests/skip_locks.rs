//! `auto_mutex::test::skip_locks`, which is for the whole process, so this is a separate program.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::test::{Register, Runs, assert_held, skip_locks};
use auto_mutex::{Client, LockError, MultiLock, Mutex, RwLock, Semaphore, Weakness};
use auto_mutex::{auto_leader, auto_mutex, auto_read, auto_semaphore, auto_write};
use auto_mutex_tests::events::{eventually, soon};
use auto_mutex_tests::log;
use tokio::sync::Barrier;

type Done = Result<u64, LockError>;

/// Lets nobody on before two bodies are inside, and checks the lock of each.
struct Door(Barrier);

impl Door {
    async fn pass(&self, name: &str) -> Done {
        assert_held!(name);
        soon("two bodies are inside", self.0.wait()).await;
        assert_held!(name);
        Ok(auto_mutex::current()?.fencing_token())
    }

    #[auto_mutex(ns = "n", name = "m")]
    async fn mutex(&self) -> Done {
        self.pass("n:m").await
    }

    #[auto_mutex(ns = "n", name = "k", keys = [1, 2])]
    async fn several(&self) -> Done {
        self.pass("k:2").await
    }

    #[auto_semaphore(ns = "n", name = "s", permits = 1)]
    async fn semaphore(&self) -> Done {
        self.pass("s").await
    }

    #[auto_read(ns = "n", name = "w")]
    async fn read(&self) -> Done {
        self.pass("w").await
    }

    #[auto_write(ns = "n", name = "w", block = 0)]
    async fn write(&self) -> Done {
        self.pass("w").await
    }

    #[auto_leader(ns = "n", name = "l")]
    async fn lead(&self) -> Done {
        self.pass("l").await
    }
}

#[tokio::test]
async fn two_bodies_are_inside_at_once() {
    skip_locks();
    let door = Door(Barrier::new(2));
    let tokens = [
        tokio::join!(door.mutex(), door.mutex()),
        tokio::join!(door.several(), door.several()),
        tokio::join!(door.semaphore(), door.semaphore()),
        tokio::join!(door.write(), door.write()),
        tokio::join!(door.read(), door.write()),
        tokio::join!(door.lead(), door.lead()),
    ];
    for (one, other) in tokens {
        assert!(one.unwrap() < other.unwrap());
    }
}

#[test]
fn threads_are_inside_at_once() {
    #[auto_mutex(block = 0)]
    fn close(inside: &AtomicU32) -> Done {
        assert_held!("close");
        inside.fetch_add(1, Ordering::SeqCst);
        eventually("all are inside", || inside.load(Ordering::SeqCst) == 8);
        Ok(auto_mutex::current()?.fencing_token())
    }
    skip_locks();
    let inside = &AtomicU32::new(0);
    std::thread::scope(|scope| {
        let threads = [(); 8].map(|()| scope.spawn(|| close(inside)));
        let mut tokens = threads.map(|thread| thread.join().unwrap().unwrap());
        tokens.sort_unstable();
        assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    });
}

#[tokio::test]
async fn handles_work_as_ever_but_exclude_nobody() -> Result<(), LockError> {
    skip_locks();
    let mutex = Mutex::new("mutex");
    let (old, new) = (mutex.lock().await?, mutex.try_lock().await?.unwrap());
    let register = Register::new();
    let (ours, newest) = (old.fencing_token(), new.fencing_token());
    register.write(ours, 1).unwrap();
    register.write(newest, 2).unwrap();
    let stale = register.write(ours, 3).unwrap_err();
    assert_eq!((stale.ours, stale.newest), (ours, newest));
    register.write(newest, 4).unwrap();
    assert_eq!(register.writes(), [(ours, 1), (newest, 2), (newest, 4)]);
    assert!(mutex.is_locked().await?);
    assert!(old.unlock().await? && new.unlock().await?);
    assert!(!mutex.is_locked().await?);

    let table = RwLock::new("table");
    let (one, other) = (table.write().await?, table.try_write().await?.unwrap());
    let reader = one.downgrade().await?;
    assert!(table.try_write().await?.is_some());
    for guard in [reader, table.read().await?] {
        assert!(guard.unlock().await?);
    }
    assert!(other.unlock().await?);

    let pool = Semaphore::new("pool", 3);
    let (all, more) = (pool.acquire_many(3).await?, pool.acquire_many(2).await?);
    assert_eq!((all.units(), more.units()), (3, 2));
    pool.signal("job").await?;
    let many = pool.acquire_many(2).await?;
    assert_eq!((many.units(), many.token()), (2, None));
    assert_eq!(pool.acquire().await?.token(), Some("job"));

    let both = MultiLock::new(["a", "b"]);
    let (one, other) = (both.lock().await?, both.lock().await?);
    assert!(one.fencing_token() < other.fencing_token());
    assert!(Mutex::new("a").force_unlock().await?);
    one.lost().await;

    // Mistakes are found as ever.
    let wrong_name = Mutex::new("wrong");
    let guard = wrong_name.lock().await?;
    let wrong = RwLock::new("wrong").read().await;
    assert!(
        matches!(wrong, Err(LockError::WrongKind { .. })),
        "{wrong:?}"
    );
    assert!(guard.unlock().await?);
    let nested = wrong_name
        .synchronize(async |_| wrong_name.lock().await.map(drop))
        .await?;
    assert!(
        matches!(nested, Err(LockError::AlreadyHeld { .. })),
        "{nested:?}"
    );
    // On the thread of a runtime, a blocking call would wait for itself.
    let guard = mutex.lock().await?;
    drop(mutex.blocking_lock()?);
    assert!(guard.unlock().await?);
    Ok(())
}

#[test]
fn other_clients_lock() {
    skip_locks();
    let client = Client::connect("memory://").unwrap();
    client.blocking_scope(|| {
        let _guard = Mutex::new("scoped").blocking_lock().unwrap();
        assert!(Mutex::new("scoped").blocking_try_lock().unwrap().is_none());
    });
    assert_eq!(client.guarantees().weaknesses(), [Weakness::InProcessOnly]);
}

#[test]
#[should_panic(expected = "is for tests without a World")]
fn it_is_not_for_a_world() {
    auto_mutex::test::run(Runs::new(), async |_| skip_locks());
}

const ALONE: &str = "AUTO_MUTEX_ALONE";

#[test]
fn it_says_so_once_and_only_as_the_first() {
    let Some(first) = std::env::var_os(ALONE) else {
        for first in ["skips", "locks"] {
            let process = Command::new(std::env::current_exe().unwrap())
                .args(["it_says_so_once_and_only_as_the_first", "--exact"])
                .env(ALONE, first)
                .output()
                .unwrap();
            assert!(process.status.success(), "{process:?}");
        }
        return;
    };
    log::take_warnings();
    if first == "skips" {
        skip_locks();
        std::thread::spawn(skip_locks).join().unwrap();
        let guarantees = auto_mutex::client().unwrap().guarantees();
        assert_eq!(guarantees.weaknesses(), [Weakness::LocksSkipped]);
        assert!(guarantees.to_string().ends_with("exclusion: none"));
        assert_eq!(log::told().matches("locks are skipped").count(), 1);
    } else {
        auto_mutex::setup("memory://").unwrap();
        let panic = std::panic::catch_unwind(skip_locks).unwrap_err();
        let text = panic.downcast::<&str>().unwrap();
        assert!(text.contains("already has a global client"), "{text}");
    }
}
