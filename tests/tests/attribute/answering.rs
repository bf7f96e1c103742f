//! Handlers that are functions of their own block take no lock, whatever path names them. All other functions of the
//! block do.

use auto_mutex::{LockError, auto_mutex};

use crate::support::{named_client, scoped_on};

/// Returns the result of `call` while another handle holds the lock that all functions here share.
fn while_held<T>(call: impl FnOnce() -> T) -> T {
    let client = named_client();
    let _held = client.mutex("book").blocking_lock().unwrap();
    client.blocking_scope(call)
}

struct Shelf<T>(T);

#[auto_mutex(name = "book", block = 0, on_timeout = Shelf::<T>::busy, on_error = <Shelf<T>>::failed)]
impl<T: Copy + Into<u32>> Shelf<T> {
    fn by_its_parameters(&self) -> u32 {
        1
    }

    #[auto_mutex(on_timeout = <Self>::own)]
    fn by_self_in_brackets(&self) -> u32 {
        1
    }

    #[auto_mutex(on_timeout = Shelf::bare)]
    fn without_parameters(&self) -> u32 {
        1
    }

    #[auto_mutex(on_timeout = Self::r#raw)]
    fn by_a_raw_name(&self) -> u32 {
        1
    }

    fn busy(&self) -> u32 {
        self.0.into() + 10
    }

    fn own(&self) -> u32 {
        self.0.into() + 20
    }

    fn bare(&self) -> u32 {
        self.0.into() + 30
    }

    fn raw(&self) -> u32 {
        self.0.into() + 40
    }

    fn failed(_: LockError) -> u32 {
        50
    }
}

#[test]
fn a_function_of_the_type_answers_by_any_of_its_names() {
    let shelf = Shelf(1_u8);
    while_held(|| {
        assert_eq!(shelf.by_its_parameters(), 11);
        assert_eq!(shelf.by_self_in_brackets(), 21);
        assert_eq!(shelf.without_parameters(), 31);
        assert_eq!(shelf.by_a_raw_name(), 41);
    });
    // No client is in force: `on_error` answers the call, and `busy` takes no lock.
    assert_eq!(shelf.by_its_parameters(), 50);
    assert_eq!(shelf.busy(), 11);
}

trait Lend<T> {
    fn lend(&self, to: T) -> u32;
    fn give_back(&self, from: T) -> u32;
    fn with(&self, count: impl Fn() -> u32) -> u32;
    fn busy(&self, with: T) -> u32;
    fn away(&self, count: impl Fn() -> u32) -> u32;
    fn failed(error: LockError) -> u32;
}

#[auto_mutex(name = "book", block = 0, on_timeout = <Self as Lend<T>>::busy, on_error = <Shelf<T> as Lend<T>>::failed)]
impl<T: Copy + Into<u32>> Lend<T> for Shelf<T> {
    fn lend(&self, to: T) -> u32 {
        to.into()
    }

    #[auto_mutex(on_timeout = Shelf::<T>::failed_to_come)]
    fn give_back(&self, from: T) -> u32 {
        from.into()
    }

    #[auto_mutex(on_timeout = Self::away)]
    fn with(&self, count: impl Fn() -> u32) -> u32 {
        count()
    }

    fn busy(&self, with: T) -> u32 {
        with.into() + 100
    }

    fn away(&self, count: impl Fn() -> u32) -> u32 {
        count() + 200
    }

    fn failed(_: LockError) -> u32 {
        300
    }
}

impl<T: Into<u32>> Shelf<T> {
    fn failed_to_come(&self, who: T) -> u32 {
        who.into() + 400
    }
}

#[test]
fn a_function_of_the_trait_answers_by_any_of_its_names() {
    let shelf = Shelf(1_u8);
    while_held(|| {
        assert_eq!(shelf.lend(2), 102);
        assert_eq!(shelf.give_back(2), 402);
        assert_eq!(shelf.with(|| 2), 202);
    });
    assert_eq!(shelf.lend(2), 300);
    assert_eq!(Lend::busy(&shelf, 2), 102);
}

struct Desk;

macro_rules! lend_both {
    ($($ty:ty: $more:literal),*) => {$(
        #[auto_mutex(name = "book", block = 0, on_timeout = Self::busy, on_error = Self::failed)]
        impl Lend<$ty> for Desk {
            fn lend(&self, to: $ty) -> u32 {
                u32::from(to)
            }

            fn give_back(&self, from: $ty) -> u32 {
                u32::from(from)
            }

            #[auto_mutex(on_timeout = <$crate::answering::Desk as Lend<$ty>>::away)]
            fn with(&self, count: impl Fn() -> u32) -> u32 {
                count()
            }

            fn busy(&self, with: $ty) -> u32 {
                u32::from(with) + $more
            }

            // A function with its own attribute takes its lock, although `with` uses it as a handler.
            #[auto_mutex(on_timeout = |_| 1)]
            fn away(&self, count: impl Fn() -> u32) -> u32 {
                count()
            }

            fn failed(_: LockError) -> u32 {
                $more
            }
        }
    )*};
}

lend_both!(u8: 10, u16: 20);

#[test]
fn one_trait_of_two_types_has_a_handler_for_each() {
    while_held(|| {
        assert_eq!(Desk.lend(1_u8), 11);
        assert_eq!(Desk.lend(1_u16), 21);
        assert_eq!(<Desk as Lend<u8>>::with(&Desk, || 5), 1);
    });
    assert_eq!(Desk.give_back(1_u16), 20);
}

struct Table;

#[auto_mutex(name = "book", block = 0, on_timeout = <Self as Page<T>>::busy, on_error = <Self>::failed)]
trait Page<T: Copy> {
    fn number(&self) -> T;

    fn turn(&self) -> T {
        self.number()
    }

    fn busy(&self) -> T {
        self.number()
    }

    fn failed(error: LockError) -> T {
        panic!("{error}")
    }
}

impl Page<u8> for Table {
    fn number(&self) -> u8 {
        7
    }
}

#[test]
fn a_default_of_a_trait_answers_too() {
    assert_eq!(while_held(|| Table.turn()), 7);
    assert_eq!(Table.busy(), 7);
}

struct Hall;

#[async_trait::async_trait]
trait Remote {
    async fn fetch(&self, page: u32) -> u32;
    async fn busy(&self, page: u32) -> u32;
}

#[auto_mutex(name = "book", block = 0, on_timeout = <Self as Remote>::busy, on_error = |_| 1)]
#[async_trait::async_trait]
impl Remote for Hall {
    async fn fetch(&self, page: u32) -> u32 {
        page
    }

    async fn busy(&self, page: u32) -> u32 {
        tokio::task::yield_now().await;
        page + 1
    }
}

#[test]
fn async_handlers_answer_too() {
    let client = named_client();
    let _held = client.mutex("book").blocking_lock().unwrap();
    let call = Hall.fetch(10);
    assert_eq!(scoped_on(&client, call), 11);
}

struct Till;

fn count(_: &Till) -> Result<u32, LockError> {
    Ok(1)
}

trait Cash {
    fn close(&self) -> Result<u32, LockError>;
    fn away(&self) -> Result<u32, LockError>;
}

impl Cash for Till {
    fn close(&self) -> Result<u32, LockError> {
        Ok(2)
    }

    fn away(&self) -> Result<u32, LockError> {
        Ok(3)
    }
}

/// None of these handlers is a function of the block, although functions of the block have the same names.
#[auto_mutex(name = "book", block = 0, on_timeout = count)]
impl Till {
    fn open(&self) -> Result<u32, LockError> {
        Ok(0)
    }

    #[auto_mutex(on_timeout = <Self as Cash>::close)]
    fn shut(&self) -> Result<u32, LockError> {
        Ok(0)
    }

    #[auto_mutex(on_timeout = |till| <Till as Cash>::away(till))]
    fn leave(&self) -> Result<u32, LockError> {
        Ok(0)
    }

    #[auto_mutex(on_timeout = |till| crate::answering::count(till))]
    fn count(&self) -> Result<u32, LockError> {
        Ok(0)
    }

    fn close(&self) -> Result<u32, LockError> {
        Ok(0)
    }

    fn away(&self) -> Result<u32, LockError> {
        Ok(0)
    }
}

#[test]
fn a_function_that_only_has_the_name_of_a_handler_keeps_its_lock() {
    while_held(|| {
        assert_eq!(Till.open().unwrap(), 1);
        assert_eq!(Till.shut().unwrap(), 2);
        assert_eq!(Till.leave().unwrap(), 3);
        assert_eq!(Till.count().unwrap(), 1);
    });
    for locked in [Till::count, Till::close, Till::away] {
        assert!(matches!(locked(&Till), Err(LockError::NotSetUp)));
    }
}

struct Retry;

impl Retry {
    /// A closure may call its own function again.
    #[auto_mutex(name = "book", block = 0, on_timeout = |times| if times == 0 { 0 } else { 1 + self.ask(times - 1) }, on_error = |_| 100)]
    fn ask(&self, times: u32) -> u32 {
        times
    }
}

#[test]
fn a_closure_may_call_its_own_function_again() {
    assert_eq!(while_held(|| Retry.ask(3)), 3);
}
