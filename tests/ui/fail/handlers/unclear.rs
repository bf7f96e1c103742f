//! A path that may name a function of the block: only the compiler knows, and it is asked too late.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;
type Alias = Ledger;

#[auto_mutex(on_timeout = crate::handlers::unclear::Ledger::busy, on_error = Alias::failed)]
impl Ledger {
    fn close(&self) -> u32 { 1 }
    #[auto_mutex(on_timeout = self::Ledger::own)] fn open(&self) -> u32 { 2 }
    #[auto_mutex(on_timeout = <Alias>::own)] fn reopen(&self) -> u32 { 2 }
    fn busy(&self) -> u32 { 3 }
    fn own(&self) -> u32 { 4 }
    fn failed(_: LockError) -> u32 { 5 }
}

trait Book {
    fn write(&self) -> u32;
    fn busy(&self) -> u32;
}

#[auto_mutex(on_timeout = <Self as crate::handlers::unclear::Book>::busy, on_error = |_| 6)]
impl Book for Ledger {
    fn write(&self) -> u32 { 7 }
    fn busy(&self) -> u32 { 8 }
}

#[auto_mutex(on_timeout = Page::busy, on_error = |_| 6)]
trait Page {
    fn write(&self) -> u32 { 7 }
    fn busy(&self) -> u32 { 8 }
}

mod other {
    pub struct Ledger;

    impl Ledger {
        pub fn failed(_: auto_mutex::LockError) -> u32 { 9 }
    }
}

mod inner {
    use super::other::Ledger;

    /// This `Ledger` is another one.
    #[auto_mutex::auto_mutex(on_timeout = panic, on_error = Ledger::missed)]
    impl super::Ledger {
        pub fn look(&self) -> u32 { 1 }
        fn missed(_: auto_mutex::LockError) -> u32 { 2 }
    }

    /// A free function of the name of one of the block.
    #[auto_mutex::auto_mutex(on_timeout = handlers::late, on_error = |_| 3)]
    impl super::Ledger {
        pub fn read(&self) -> u32 { 1 }
        fn late(&self) -> u32 { 2 }
    }

    mod handlers {
        pub fn late(_: &crate::handlers::unclear::Ledger) -> u32 { 4 }
    }
}
