//! The tables of the module's documentation: each line is run, and no variant is missing.

use std::future::Future;
use std::pin::Pin;

use auto_mutex_core::{
    self as auto_mutex, Client, Deadlock, Leader, LockError, LockKind, LossCause, Mutex, MutexGuard,
};

use super::faults::cause;
use super::*;
use crate::{Operation, StoreErrorKind};

struct Row<S> {
    variant: &'static str,
    line: &'static str,
    call: &'static str,
    get: fn(S) -> Pin<Box<dyn Future<Output = LockError>>>,
    fits: fn(&LockError) -> bool,
}

/// Rows of a table: the error with all its fields, the line of a test, and the call that gets the error. `then` runs
/// between the two.
macro_rules! table {
    ($table:ident of $enum:ident, $setting:tt: $setting_type:ty, then $then:expr;
     $($variant:ident: $error:pat if $fits:expr; {$($line:tt)*} $call:expr;)*) => {
        #[allow(unused_variables)]
        const $table: &[Row<$setting_type>] = &[$(Row {
            variant: stringify!($variant),
            line: stringify!($($line)*),
            call: stringify!($call),
            get: |$setting| Box::pin(async move {
                $($line)*
                $then;
                $call.map(drop).unwrap_err()
            }),
            fits: |error| matches!(error, $error if $fits),
        }),*];

        impl Variant for $enum {
            fn variant(&self) -> &'static str {
                #[allow(unreachable_patterns, reason = "some have several rows")]
                match self {
                    $(Self::$variant { .. } => stringify!($variant),)*
                    // A test of the error itself finds out that a row is missing.
                    _ => panic!("no row has it"),
                }
            }
        }
    };
}

trait Variant {
    /// The name of the variant.
    fn variant(&self) -> &'static str;
}

async fn both(client: Client, first: &str, second: &str) -> Result<(), LockError> {
    let (first, second) = (client.mutex(first), client.mutex(second));
    let body = async |_: &_| {
        sleep(1).await;
        second.lock().await.map(drop)
    };
    first.synchronize(body).await?
}

table! {
    ERRORS of LockError, (world, a, b): (World, Client, Client), then world.idle().await;

    Timeout: LockError::Timeout { name, waited, holder: Some(holder), .. }
        if name == "x" && *waited == 5 * SECOND && holder.host == "elsewhere";
    { world.hold_elsewhere("x").await; }
    a.mutex("x").block("5s").lock().await;

    TooManyAttempts: LockError::TooManyAttempts { name, attempts: 3, holder: Some(holder), .. }
        if name == "x" && holder.host == "elsewhere";
    { world.hold_elsewhere("x").await; }
    a.mutex("x").retries(2, "1s").lock().await;

    Busy: LockError::Busy { name, waiting: 1, .. } if name == "x";
    { let guard = b.mutex("x").lock().await; let waits = world.on(&a, both(a.clone(), "x", "y")); }
    a.mutex("x").max_waiters(1).lock().await;

    Lost: LockError::Lost { name, held, cause: LossCause::Forced, .. }
        if name == "x" && *held == Duration::ZERO;
    { let body = world.on(&a, both(a.clone(), "x", "y")); world.idle().await; world.force_unlock(&a); }
    body.await;

    Unavailable: LockError::Unavailable { name, server, source, .. }
        if name == "x" && server == "world" && source.is_disconnected();
    { world.oom_crash(); }
    a.mutex("x").lock().await;

    Unavailable: LockError::Unavailable { name, server, source, .. }
        if name == "x" && server == "world" && source.is_disconnected();
    { world.disconnect(&a); }
    a.mutex("x").lock().await;

    Unavailable: LockError::Unavailable { name, server, source, .. }
        if name == "x" && server == "world" && source.kind() == StoreErrorKind::NotGrantingYet;
    { world.failover().await; }
    a.mutex("x").block("5s").lock().await;

    Unavailable: LockError::Unavailable { name, server, source, .. }
        if name == "x" && server == "world" && source.code() == Some("ERR");
    { world.fail_next(Operation::Acquire, StoreErrorKind::Refused); }
    a.mutex("x").lock().await;

    NotReplicated: LockError::NotReplicated { name, wanted: 2, reached: 1, .. } if name == "x";
    { world.fail_next(Operation::Acquire, StoreErrorKind::Unreplicated { wanted: 2, reached: 1 }); }
    a.mutex("x").lock().await;

    ForeignKey: LockError::ForeignKey { name, .. } if name == "x";
    { world.fail_next(Operation::Acquire, StoreErrorKind::Foreign); }
    a.mutex("x").lock().await;

    Unsupported: LockError::Unsupported { name, what, store: "world", .. } if name == "x" && !what.is_empty();
    { world.fail_next(Operation::Other, StoreErrorKind::Unsupported); }
    a.semaphore("x", 0).signal("job").await;

    AlreadyHeld: LockError::AlreadyHeld { name, .. } if name == "x";
    { let body = both(a.clone(), "x", "x"); }
    body.await;

    Deadlock: LockError::Deadlock { cycle, .. }
        if cycle.len() == 2 && cycle[0].holds == cycle[1].waits_for && cycle[0].waits_for == cycle[1].holds;
    { let (one, other) = (world.on(&a, both(a.clone(), "x", "y")), world.on(&b, both(b.clone(), "y", "x"))); }
    one.await.and(other.await);

    WrongKind: LockError::WrongKind { name, expected: LockKind::Mutex, found: LockKind::RwLock, .. } if name == "x";
    { let guard = b.rw_lock("x").read().await; }
    a.mutex("x").lock().await;

    PermitsMismatch: LockError::PermitsMismatch { name, expected: 2, found: 3, .. } if name == "x";
    { let permits = b.semaphore("x", 3).acquire_many(3).await; }
    a.semaphore("x", 2).acquire().await;

    InUse: LockError::InUse { name, holders: 1, waiters: 0, .. } if name == "x";
    { let permit = b.semaphore("x", 3).acquire().await; }
    a.semaphore("x", 3).delete().await;

    ShutDown: LockError::ShutDown if true;
    { a.shutdown().await; }
    a.mutex("x").lock().await;

    Forked: LockError::Forked if true;
    { world.fork(&a); }
    a.mutex("x").lock().await;

    NotSetUp: LockError::NotSetUp if true;
    { let task = tokio::spawn(async { Mutex::new("x").lock().await.map(drop) }); }
    task.await.unwrap();

    NotProtected: LockError::NotProtected if true;
    { let task = world.on(&a, async { auto_mutex::current().map(drop) }); }
    task.await;

    InvalidName: LockError::InvalidName { name, reason: "it is empty", .. } if name.is_empty();
    { let name = ""; }
    a.mutex(name).lock().await;

    InvalidOption: LockError::InvalidOption { option: "block", reason, .. } if !reason.is_empty();
    { let block = "5 months"; }
    a.mutex("x").block(block).lock().await;
}

table! {
    CAUSES of LossCause, (world, a, mutex, guard): (World, Client, Mutex, MutexGuard), then world.advance(20 * SECOND).await;

    NotRenewed: LockError::Lost { name, held, cause: LossCause::NotRenewed, .. } if name == "x" && held.as_secs() == 20;
    { world.expire_lease(&a); }
    guard.check();

    NotRenewed: LockError::Lost { name, held, cause: LossCause::NotRenewed, .. } if name == "x" && held.as_secs() == 20;
    { world.disconnect(&a); }
    guard.check();

    NotRenewed: LockError::Lost { name, held, cause: LossCause::NotRenewed, .. } if name == "x" && held.as_secs() == 20;
    { world.suspend(&a); }
    guard.check();

    Expired: LockError::Lost { name, held, cause: LossCause::Expired, .. } if name == "x" && held.as_secs() == 80;
    { world.advance(60 * SECOND).await; }
    guard.check();

    Forced: LockError::Lost { name, held, cause: LossCause::Forced, .. } if name == "x" && held.as_secs() == 20;
    { world.force_unlock(&a); }
    guard.check();

    Forgotten: LockError::Lost { name, held, cause: LossCause::Forgotten, .. } if name == "x" && held.as_secs() == 20;
    { world.lose(&a); }
    guard.check();

    Forgotten: LockError::Lost { name, held, cause: LossCause::Forgotten, .. } if name == "x" && held.as_secs() == 20;
    { world.restart_empty(); }
    guard.check();

    Released: LockError::Lost { name, held, cause: LossCause::Released, .. } if name == "x" && held.as_secs() == 20;
    { mutex.unlock().await.unwrap(); }
    guard.check();

    ShutDown: LockError::Lost { name, held, cause: LossCause::ShutDown, .. } if name == "x" && held.as_secs() == 20;
    { a.shutdown().await; }
    guard.check();

    Forked: LockError::Lost { name, held, cause: LossCause::Forked, .. } if name == "x" && held.as_secs() == 20;
    { world.fork(&a); }
    guard.check();

    Stalled: LockError::Lost { name, held, cause: LossCause::Stalled, .. } if name == "y" && held.as_secs() == 20;
    { let hangs = world.thread(&a, hangs(a.leader("y").progress("10s"))); }
    hangs.await;
}

/// A body of a leader that reports no progress.
fn hangs(leader: Leader) -> impl FnOnce() -> Result<(), LockError> {
    move || {
        leader.blocking_lead(|term| {
            crate::sleep(20 * SECOND);
            Ok::<_, LockError>(term.check())
        })?
    }
}

fn page(of: &str) -> Vec<String> {
    let rows = include_str!("../../table.md").lines();
    let of = format!("(auto_mutex_core::{of}::");
    let rows = rows.filter(|line| line.starts_with("| [`") && line.contains(&of));
    rows.map(|line| plain(&line.replace("\\|", "|"))).collect()
}

fn plain(text: &str) -> String {
    text.replace([' ', '\n'], "")
}

fn check<S, V: Variant>(
    of: &str,
    rows: &'static [Row<S>],
    variant: fn(&LockError) -> V,
    setting: impl AsyncFn(World, Client, Client) -> S,
) {
    let shown = rows.iter().map(|row| {
        let Row {
            variant,
            line,
            call,
            ..
        } = row;
        plain(&format!(
            "| [`{variant}`](auto_mutex_core::{of}::{variant}) | `{line}` | `{call}` |"
        ))
    });
    assert_eq!(page(of), shown.collect::<Vec<_>>());
    for row in rows {
        run(Runs::new().seeds(5), async |world| {
            let [a, b] = ["a", "b"].map(|host| {
                let config = world.config(host).deadlock(Deadlock::Fail);
                Client::connect(config).unwrap()
            });
            let setting = setting(world, a, b).await;
            let error = (row.get)(setting).await;
            assert!((row.fits)(&error), "{}: {error:?}", row.line);
            assert_eq!(variant(&error).variant(), row.variant);
        });
    }
}

#[test]
fn each_error_can_be_had_in_one_line() {
    check(
        "LockError",
        ERRORS,
        LockError::clone,
        async |world, a, b| (world, a, b),
    );
}

#[test]
fn each_cause_of_a_loss_can_be_had_in_one_line() {
    check("LossCause", CAUSES, cause, async |world, a, _| {
        let mutex = a.mutex("x").expire("60s");
        let guard = mutex.lock().await.unwrap();
        (world, a, mutex, guard)
    });
}

#[test]
fn each_cause_of_a_loss_has_a_row() {
    for cause in LossCause::ALL {
        let variant = cause.variant();
        assert!(CAUSES.iter().any(|row| row.variant == variant), "{variant}");
    }
}
