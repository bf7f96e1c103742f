//! Bodies that the attribute on a block cannot see, such as those that a macro makes. Marked ones are accepted, all others
//! are refused (`tests/ui/fail/block`).

use std::pin::Pin;
use std::sync::Arc;

use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

use crate::support::{named_client, scoped_on};

type Done = Result<bool, LockError>;

/// Returns whether the call took a lock: no client is in force, so every lock fails.
fn is_locked(result: Done) -> bool {
    match result {
        Err(LockError::NotSetUp) => true,
        Ok(true) => false,
        other => panic!("{other:?}"),
    }
}

macro_rules! functions {
    ($plain:ident, $locked:ident) => {
        fn $plain(&self) -> Done {
            Ok(true)
        }

        #[auto_mutex(guard = g)]
        fn $locked(&self) -> Done {
            Ok(g.name().ends_with(concat!(":", stringify!($locked))))
        }
    };
}

struct Ledger;

#[auto_mutex(explicit)]
impl Ledger {
    functions!(plain, locked);
}

#[auto_mutex]
impl Ledger {
    // The block protects no function that a macro makes: the macro call is marked as an exception.
    #[no_auto_mutex]
    functions!(plain_beside, locked_beside);

    // The block does not protect code in a constant either: the constant is marked as an exception.
    #[no_auto_mutex]
    const CLOSE: fn() -> Done = || Ok(true);

    /// A function pointer contains no code, and the function that it points to has its lock.
    const OPEN: fn(&Self) -> Done = Self::open;

    fn open(&self) -> Done {
        Ok(true)
    }
}

trait Close {
    fn plain(&self) -> Done;
    fn locked(&self) -> Done;
    fn beside(&self) -> Done;
}

#[auto_mutex]
impl Close for Ledger {
    #[no_auto_mutex]
    functions!(plain, locked);

    fn beside(&self) -> Done {
        Ok(true)
    }
}

#[test]
fn what_a_macro_makes_is_locked_where_it_says_so() {
    assert!(!is_locked(Ledger.plain()));
    assert!(is_locked(Ledger.locked()));
    assert!(!is_locked(Ledger.plain_beside()));
    assert!(is_locked(Ledger.locked_beside()));
    assert!(!is_locked(Close::plain(&Ledger)));
    assert!(is_locked(Close::locked(&Ledger)));
    assert!(is_locked(Ledger.beside()));
    assert!(named_client().blocking_scope(|| Ledger.locked()).unwrap());
}

#[test]
fn code_in_a_constant_takes_no_lock() {
    assert!(!is_locked(Ledger::CLOSE()));
    assert!(is_locked(Ledger::OPEN(&Ledger)));
}

/// Makes blocks from whole items, and from parts of items. The compiler wraps each macro fragment in an invisible group.
macro_rules! blocks {
    ($ty:ident; $(#[$meta:meta])* $vis:vis fn $name:ident $body:block; { $($item:item)* } $($token:tt)*) => {
        pub(crate) struct $ty;

        #[auto_mutex]
        impl $ty {
            $(#[$meta])*
            $vis fn $name(&self) -> Done $body

            $($token)*
        }

        #[auto_mutex]
        pub(crate) trait Default {
            $($item)*
        }

        impl Default for $ty {}
    };
}

mod made {
    use super::*;

    blocks! {
        Marked;
        #[auto_mutex(expire = 3)] #[inline] pub(super) fn close { Ok(true) };
        {
            fn default(&self) -> Done { Ok(true) }
            #[no_auto_mutex] fn plain_default(&self) -> Done { Ok(true) }
        }
        async fn later(&self) -> Done { Ok(true) }
    }

    pub(super) mod beside {
        use super::*;

        blocks! {
            LeftOut;
            #[no_auto_mutex] pub(super) fn close { Ok(true) };
            { fn default(&self) -> Done { Ok(true) } }
            pub(super) fn open(&self) -> Done { Ok(true) }
        }
    }

    #[test]
    fn functions_in_the_groups_of_a_macro_are_locked() {
        assert!(is_locked(Marked.close()));
        assert!(is_locked(Marked.default()));
        assert!(!is_locked(Marked.plain_default()));
        assert!(is_locked(futures::executor::block_on(Marked.later())));
        assert!(!is_locked(beside::LeftOut.close()));
        assert!(is_locked(beside::LeftOut.open()));
        assert!(is_locked(beside::Default::default(&beside::LeftOut)));
    }
}

macro_rules! whole {
    ($item:item) => {
        #[auto_mutex]
        $item
    };
}

struct Whole;

whole! {
    impl Whole {
        fn close(&self) -> Done {
            Ok(true)
        }
    }
}

/// Each form in which a function can be written.
struct Ways;

#[auto_mutex]
impl Ways {
    fn shared(self: Arc<Self>) -> Done {
        Ok(true)
    }

    fn generic<const N: usize, T>(n: T) -> Done
    where
        T: Copy + Into<usize>,
    {
        Ok(n.into() == N)
    }

    #[cfg(test)]
    #[cfg_attr(test, inline)]
    fn conditional(&self) -> Done {
        Ok(true)
    }

    fn returns_a_future(&self) -> Pin<Box<dyn Future<Output = Done> + Send>> {
        Box::pin(async move { Ok(true) })
    }
}

#[test]
fn every_way_to_write_a_function_is_locked() {
    assert!(is_locked(Whole.close()));
    assert!(is_locked(Arc::new(Ways).shared()));
    assert!(is_locked(Ways::generic::<3, u8>(3)));
    assert!(is_locked(Ways.conditional()));
    let future = Ways.returns_a_future();
    assert!(is_locked(futures::executor::block_on(future)));
    assert!(scoped_on(&named_client(), Ways.returns_a_future()).unwrap());
}

/// Items and closures inside a body run under its lock.
struct Nested;

#[auto_mutex(guard = g)]
impl Nested {
    fn close(&self) -> Done {
        struct Inner;
        impl Inner {
            fn close(&self) -> Done {
                Ok(true)
            }
        }
        let held = || g.check().is_ok();
        Ok(Inner.close()? && held())
    }

    async fn later(&self) -> Done {
        let check = async || g.check().is_ok();
        Ok(check().await)
    }
}

#[test]
fn nested_items_and_closures_run_under_the_lock() {
    assert!(is_locked(Nested.close()));
    let client = named_client();
    assert!(client.blocking_scope(|| Nested.close()).unwrap());
    assert!(scoped_on(&client, Nested.later()).unwrap());
}
