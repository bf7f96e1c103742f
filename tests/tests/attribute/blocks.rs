//! The attribute on a block: defaults, overrides, exceptions.

use auto_mutex::{LockError, Mutex, auto_mutex, no_auto_mutex};

use crate::support::{named_client, scoped_on};

type Name = Result<String, LockError>;

#[derive(Default)]
struct Ledger {
    id: u32,
}

#[auto_mutex(key = "{self.id}", ns = "b", guard = g, expire = 100)]
impl Ledger {
    const LIMIT: u32 = 3;

    fn inherits(&self) -> Name {
        Ok(format!("{} {}", g.name(), g.expires_in().as_secs() / 50))
    }

    async fn inherits_async(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(expire = 45, key = (self.id, Self::LIMIT))]
    fn overrides(&self) -> Name {
        Ok(format!("{} {}", g.name(), g.expires_in().as_secs() / 50))
    }

    #[auto_mutex(key = ())]
    fn drops_the_key() -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(guard = other)]
    fn other_guard(&self) -> Name {
        Ok(other.name().to_owned())
    }

    /// The guard that the block names may stay unused.
    fn no_guard(&self) -> Result<u32, LockError> {
        Ok(self.id)
    }

    #[no_auto_mutex]
    const fn constant() -> u32 {
        Self::LIMIT
    }

    #[no_auto_mutex]
    fn plain(&self) -> u32 {
        self.id
    }
}

#[test]
fn options_are_merged_one_by_one() {
    let (client, ledger) = (named_client(), Ledger { id: 7 });
    client.blocking_scope(|| {
        assert_eq!(
            ledger.inherits().unwrap(),
            "b:auto-mutex-tests:Ledger:inherits:7 1"
        );
        assert_eq!(
            ledger.overrides().unwrap(),
            "b:auto-mutex-tests:Ledger:overrides:7:3 0"
        );
        assert_eq!(
            Ledger::drops_the_key().unwrap(),
            "b:auto-mutex-tests:Ledger:drops_the_key"
        );
        assert_eq!(
            ledger.other_guard().unwrap(),
            "b:auto-mutex-tests:Ledger:other_guard:7"
        );
        assert_eq!(ledger.no_guard().unwrap(), 7);
    });
    assert_eq!(
        scoped_on(&client, ledger.inherits_async()).unwrap(),
        "b:auto-mutex-tests:Ledger:inherits_async:7"
    );
    // No client is in force: these functions take no lock.
    assert_eq!(Ledger::constant() + ledger.plain(), 10);
}

struct Explicit;

#[auto_mutex(explicit, ns = "b", guard = g)]
impl Explicit {
    fn plain(&self) -> u32 {
        1
    }

    const fn constant(&self) -> u32 {
        2
    }

    #[auto_mutex]
    fn marked(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(key = 1)]
    fn marked_with_more(&self) -> Name {
        Ok(g.name().to_owned())
    }
}

#[test]
fn explicit_protects_what_is_marked() {
    assert_eq!(Explicit.plain() + Explicit.constant(), 3);
    assert!(matches!(Explicit.marked(), Err(LockError::NotSetUp)));
    named_client().blocking_scope(|| {
        assert_eq!(
            Explicit.marked().unwrap(),
            "b:auto-mutex-tests:Explicit:marked"
        );
        assert_eq!(
            Explicit.marked_with_more().unwrap(),
            "b:auto-mutex-tests:Explicit:marked_with_more:1"
        );
    });
}

#[auto_mutex(ns = "b", guard = g)]
trait Book {
    const PAGES: u32;
    type Page;

    fn bodiless(&self) -> u32;

    fn write(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[no_auto_mutex]
    fn plain(&self) -> u32 {
        Self::PAGES
    }
}

impl Book for Ledger {
    const PAGES: u32 = 3;
    type Page = u8;

    fn bodiless(&self) -> u32 {
        4
    }
}

/// Documented: an implementation that overrides a protected default loses the protection.
impl Book for Explicit {
    const PAGES: u32 = 3;
    type Page = u8;

    fn bodiless(&self) -> u32 {
        4
    }

    fn write(&self) -> Name {
        Ok("unprotected".to_owned())
    }
}

#[test]
fn a_trait_block_protects_its_defaults() {
    let ledger = Ledger::default();
    assert_eq!(
        ledger.plain() + <Ledger as Book>::plain(&ledger) + ledger.bodiless(),
        7
    );
    assert!(matches!(ledger.write(), Err(LockError::NotSetUp)));
    assert_eq!(
        named_client().blocking_scope(|| ledger.write()).unwrap(),
        "b:auto-mutex-tests:Ledger:write"
    );
    assert_eq!(Explicit.write().unwrap(), "unprotected");
}

struct Cancels;

/// `cancel` is a default for functions that can be cancelled; a sync body runs to its end.
#[auto_mutex(name = "l", on_lost = cancel)]
impl Cancels {
    fn sync(&self) -> Result<bool, LockError> {
        Mutex::new("l").blocking_force_unlock()
    }

    async fn future(&self) -> Result<bool, LockError> {
        Mutex::new("l").force_unlock().await?;
        std::future::pending().await
    }
}

#[test]
fn cancel_as_a_default_is_for_the_async_ones() {
    let client = named_client();
    assert!(client.blocking_scope(|| Cancels.sync()).unwrap());
    let result = scoped_on(&client, Cancels.future());
    assert!(matches!(result, Err(LockError::Lost { .. })), "{result:?}");
}
