//! An attribute of another kind on a function of a block overrides the block's kind, and their options are merged.

use auto_mutex::{
    LockError, MutexGuard, Permit, RwLockReadGuard, RwLockWriteGuard, auto_mutex, auto_read,
    auto_semaphore, auto_write, no_auto_mutex,
};

use crate::support::client;

type Name = Result<String, LockError>;

struct Shelf(u32);

#[auto_write(ns = "n", key = "{self.0}", guard = g, expire = 20)]
impl Shelf {
    fn write(&self) -> Name {
        let _: &RwLockWriteGuard = g;
        Ok(format!("{} {}", g.name(), g.expires_in().as_secs() / 10))
    }

    #[auto_read(expire = 60)]
    fn read(&self) -> Name {
        let _: &RwLockReadGuard = g;
        Ok(format!("{} {}", g.name(), g.expires_in().as_secs() / 10))
    }

    #[auto_mutex(key = (self.0, "x"))]
    fn mutex(&self) -> Name {
        let _: &MutexGuard = g;
        Ok(format!("{} {}", g.name(), g.expires_in().as_secs() / 10))
    }

    #[auto_semaphore(permits = 2, key = ())]
    fn semaphore(&self) -> Name {
        let _: &Permit = g;
        Ok(format!("{} {}", g.name(), g.expires_in().as_secs() / 10))
    }

    #[auto_mutex(keys = [self.0, 2])]
    fn several(&self) -> Result<usize, LockError> {
        Ok(g.names().count())
    }

    #[no_auto_mutex]
    fn free(&self) -> u32 {
        self.0
    }
}

#[test]
fn each_function_has_its_own_kind_and_the_blocks_options() {
    let shelf = Shelf(7);
    client().blocking_scope(|| {
        assert_eq!(shelf.write().unwrap(), "n:auto-mutex-tests:Shelf::7 1");
        assert_eq!(shelf.read().unwrap(), "n:auto-mutex-tests:Shelf::7 5");
        assert_eq!(
            shelf.mutex().unwrap(),
            "n:auto-mutex-tests:Shelf:mutex:7:x 1"
        );
        assert_eq!(
            shelf.semaphore().unwrap(),
            "n:auto-mutex-tests:Shelf:semaphore 1"
        );
        assert_eq!(shelf.several().unwrap(), 2);
        assert_eq!(shelf.free(), 7);
    });
}

struct Named;

#[auto_write(name = "shared", ns = "n", guard = g)]
impl Named {
    fn write(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_read]
    fn read(&self) -> Name {
        Ok(g.name().to_owned())
    }

    /// A mutex cannot be the same lock as a readers-writer lock, so it has its own name.
    #[auto_mutex]
    fn mutex(&self) -> Name {
        Ok(g.name().to_owned())
    }
}

#[auto_semaphore(permits = 2, ns = "n", guard = g)]
trait Pool {
    fn limited(&self) -> Result<u32, LockError> {
        Ok(g.units())
    }

    #[auto_mutex]
    fn alone(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_semaphore(permits = 3)]
    fn more(&self) -> Name {
        Ok(g.name().to_owned())
    }
}

impl Pool for Named {}

#[auto_mutex(keys = [1, 2], ns = "n", guard = g)]
impl Named {
    fn both(&self) -> Result<usize, LockError> {
        Ok(g.names().count())
    }

    #[auto_mutex(key = ())]
    fn one(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_read]
    fn reader(&self) -> Name {
        Ok(g.name().to_owned())
    }
}

#[test]
fn what_only_the_blocks_kind_has_is_not_passed_on() {
    client().blocking_scope(|| {
        assert_eq!(Named.write().unwrap(), "n:shared");
        assert_eq!(Named.read().unwrap(), "n:shared");
        assert_eq!(Named.mutex().unwrap(), "n:auto-mutex-tests:Named:mutex");
        assert_eq!(Named.limited().unwrap(), 1);
        assert_eq!(Named.alone().unwrap(), "n:auto-mutex-tests:Named:alone");
        assert_eq!(Named.more().unwrap(), "n:auto-mutex-tests:Named:more");
        assert_eq!(Named.both().unwrap(), 2);
        assert_eq!(Named.one().unwrap(), "n:auto-mutex-tests:Named:one");
        assert_eq!(Named.reader().unwrap(), "n:auto-mutex-tests:Named");
    });
}
