//! Functions that derive the same name are reported once. The log is process-wide, so this is a separate program.
#![allow(dead_code)]

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::log;

mod cash {
    pub(super) struct Ledger;
    pub(super) struct Register;
    pub(super) struct Till;
}
mod goods {
    pub(super) struct Ledger;
    pub(super) struct Register;
    pub(super) struct Till;
}

#[auto_mutex]
impl cash::Ledger {
    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[auto_mutex]
impl goods::Ledger {
    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }
}

impl cash::Register {
    #[auto_mutex]
    fn open(&self) -> Result<(), LockError> {
        Ok(())
    }
}

impl goods::Register {
    #[auto_mutex]
    fn open(&self) -> Result<(), LockError> {
        Ok(())
    }
}

impl cash::Till {
    #[auto_mutex(name = "till")]
    fn count(&self) -> Result<(), LockError> {
        Ok(())
    }
}

impl goods::Till {
    #[auto_mutex(name = "till")]
    fn count(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[test]
fn a_name_that_two_functions_derive_is_told_once() {
    log::take_warnings();

    let client = Client::connect("memory://").expect("memory needs nothing");
    let told = log::told();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("WARN"), "{told}");
    assert!(
        told.contains("name=auto-mutex-tests:Ledger:close"),
        "{told}"
    );
    assert_eq!(told.matches("duplicates::close at ").count(), 2, "{told}");
    assert!(told.contains("`name = "), "{told}");

    let other = auto_mutex::Config::new("memory://").expect("a good URL");
    let other = Client::connect(other.namespace("prod")).expect("memory needs nothing");
    assert_eq!(log::told(), "", "known already");

    // The types of these functions are known only when they are called.
    client
        .blocking_scope(|| cash::Register.open())
        .expect("the lock");
    client
        .blocking_scope(|| cash::Till.count())
        .expect("the lock");
    client
        .blocking_scope(|| goods::Till.count())
        .expect("the lock");
    assert_eq!(log::told(), "", "each alone, or meant");
    for _ in 0..2 {
        client
            .blocking_scope(|| goods::Register.open())
            .expect("the lock");
        other
            .blocking_scope(|| goods::Register.open())
            .expect("the lock");
    }
    let told = log::told();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(
        told.contains("name=auto-mutex-tests:Register:open"),
        "{told}"
    );

    // Two programs of one package, each with a function of this name.
    let shared = |site: &str| {
        let config = auto_mutex::Config::new("memory://shared").expect("a good URL");
        Client::connect(config.site(site)).expect("memory needs nothing")
    };
    let (other, here) = (shared("worker::run at src/bin/worker.rs:7"), shared("here"));
    for (name, call) in [
        ("till", (|| cash::Till.count()) as fn() -> _),
        ("auto-mutex-tests:crate:run", run),
        ("auto-mutex-tests:crate:run", run),
    ] {
        let held = other.mutex(name).blocking_lock().expect("free");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| here.blocking_scope(call));
            while other
                .mutex(name)
                .blocking_info()
                .expect("an answer")
                .waiters
                .is_empty()
            {
                std::thread::yield_now();
            }
            drop(held);
            waits.join().expect("no panic").expect("the lock");
        });
    }
    let told = log::told();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("name=auto-mutex-tests:crate:run"), "{told}");
    assert!(
        told.contains("worker::run at src/bin/worker.rs:7"),
        "{told}"
    );
}

#[auto_mutex]
fn run() -> Result<(), LockError> {
    Ok(())
}
