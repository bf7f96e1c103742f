//! The results of calls that cannot get their lock.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use auto_mutex::{LockError, auto_mutex};

use crate::support::{named_client, scoped_on};

#[derive(Debug, PartialEq)]
enum Outcome {
    Done(u32),
    Busy(u32),
    Failed(String),
    Locked(String),
}

impl From<LockError> for Outcome {
    fn from(error: LockError) -> Self {
        Self::Locked(error.to_string())
    }
}

type Call = Result<u32, Outcome>;

/// Runs `call` while another handle holds `t:busy`.
fn busy<T>(call: impl FnOnce() -> T) -> T {
    let client = named_client();
    let _held = client.mutex("busy").blocking_lock().expect("free");
    client.blocking_scope(call)
}

fn busy_async<T>(call: impl Future<Output = T>) -> T {
    let client = named_client();
    let _held = client.mutex("busy").blocking_lock().expect("free");
    scoped_on(&client, call)
}

/// Runs `call` with a client that has been shut down, so the call fails, but not with a timeout.
fn down<T>(call: impl FnOnce() -> T) -> T {
    let client = named_client();
    client.blocking_shutdown();
    client.blocking_scope(call)
}

fn down_async<T>(call: impl Future<Output = T>) -> T {
    let client = named_client();
    client.blocking_shutdown();
    scoped_on(&client, call)
}

struct Ledger {
    id: u32,
}

impl Ledger {
    #[auto_mutex(name = "busy", block = 0, on_timeout = Self::busy, on_error = Self::failed)]
    fn method(&self, month: String) -> Call {
        panic!("never gets here in {month}")
    }

    #[auto_mutex(name = "busy", block = 0, on_timeout = Self::busy, on_error = Self::failed_later)]
    async fn method_async(&self, month: String) -> Call {
        panic!("never gets here in {month}")
    }

    #[auto_mutex(name = "busy", block = 0, on_timeout = Self::busy_later)]
    async fn awaits(&self, month: String) -> Call {
        panic!("never gets here in {month}")
    }

    fn busy(&self, month: String) -> Call {
        Err(Outcome::Busy(self.id + month.len() as u32))
    }

    async fn busy_later(&self, month: String) -> Call {
        tokio::task::yield_now().await;
        Err(Outcome::Busy(self.id + month.len() as u32))
    }

    fn failed(error: LockError) -> Call {
        Err(Outcome::Failed(error.to_string()))
    }

    async fn failed_later(error: LockError) -> Call {
        tokio::task::yield_now().await;
        Err(Outcome::Failed(error.to_string()))
    }

    #[auto_mutex(name = "busy", block = 0, on_timeout = |ledger, month| ledger.busy(month), on_error = |error, _, month| Err(Outcome::Failed(format!("{error} {month}"))))]
    fn closures(&self, month: String) -> Call {
        panic!("never gets here in {month}")
    }

    #[auto_mutex(name = "busy", block = 0, on_timeout = |m: String| self.busy(m), on_error = |error| Err(Outcome::Failed(error.to_string())))]
    fn without_self(&self, month: String) -> Call {
        panic!("never gets here in {month}")
    }

    #[auto_mutex(name = "busy", block = 0, on_timeout = async || self.busy_later(month).await, on_error = |error| async move { Self::failed_later(error).await })]
    async fn async_closures(&self, month: String) -> Call {
        panic!("never gets here in {month}")
    }

    #[auto_mutex(name = "busy", block = 0, on_timeout = || -> Call { Err(Outcome::Busy(1)) })]
    fn typed(&mut self) -> Call {
        self.id += 1;
        Ok(self.id)
    }
}

const BUSY: Call = Err(Outcome::Busy(4));
fn failed() -> Call {
    Err(Outcome::Failed(SHUT_DOWN.into()))
}

fn may() -> String {
    "may".to_owned()
}

const SHUT_DOWN: &str =
    "the lock client was shut down or is shutting down, so it takes no new locks";

#[test]
fn a_path_gets_the_arguments_or_the_error() {
    let ledger = Ledger { id: 1 };
    assert_eq!(busy(|| ledger.method(may())), BUSY);
    assert_eq!(down(|| ledger.method(may())), failed());
    assert_eq!(busy_async(ledger.method_async(may())), BUSY);
    assert_eq!(down_async(ledger.method_async(may())), failed());
    assert_eq!(busy_async(ledger.awaits(may())), BUSY);
}

/// Functions of a type as `on_error`: they may take `self`.
impl Ledger {
    fn failed_here(&self, error: LockError) -> Call {
        Err(Outcome::Failed(format!("{error} {}", self.id)))
    }

    async fn failed_here_later(&self, error: LockError) -> Call {
        tokio::task::yield_now().await;
        self.failed_here(error)
    }

    fn failed_and_counted(&mut self, error: LockError) -> Call {
        self.id += 1;
        self.failed_here(error)
    }

    fn failed_for_good(self, error: LockError) -> Call {
        self.failed_here(error)
    }

    #[auto_mutex(on_error = Self::failed_here)]
    fn shared(&self) -> Call {
        Ok(self.id)
    }

    #[auto_mutex(on_error = Self::failed_and_counted)]
    fn exclusive(&mut self) -> Call {
        Ok(self.id)
    }

    #[auto_mutex(on_error = <Self>::failed_for_good)]
    fn owned(self) -> Call {
        Ok(self.id)
    }

    #[auto_mutex(on_error = Self::failed_here_later)]
    async fn shared_async(&self) -> Call {
        Ok(self.id)
    }

    #[auto_mutex(on_error = Self::failed)]
    async fn consumed_async(self) -> Call {
        let whole = self;
        Ok(whole.id)
    }

    #[auto_mutex(on_error = Self::failed_here)]
    fn boxed(&self) -> Pin<Box<dyn Future<Output = Call> + Send + '_>> {
        Box::pin(async move { Ok(self.id) })
    }

    /// The future does not borrow `self`, so its handler does not get `self`.
    #[auto_mutex(on_error = Self::failed)]
    fn made(&self) -> Pin<Box<dyn Future<Output = Call> + Send>> {
        let id = self.id;
        Box::pin(async move { Ok(id) })
    }
}

#[test]
fn on_error_gives_self_to_a_function_that_takes_it() {
    let failed_with = |id: u32| Err(Outcome::Failed(format!("{SHUT_DOWN} {id}")));
    let mut ledger = Ledger { id: 1 };
    assert_eq!(down(|| ledger.shared()), failed_with(1));
    assert_eq!(down(|| ledger.exclusive()), failed_with(2));
    assert_eq!(down(|| Ledger { id: 3 }.owned()), failed_with(3));
    assert_eq!(down_async(ledger.shared_async()), failed_with(2));
    assert_eq!(down_async(Ledger { id: 3 }.consumed_async()), failed());
    assert_eq!(down_async(ledger.boxed()), failed_with(2));
    assert_eq!(down_async(ledger.made()), failed());
}

#[test]
fn a_closure_is_put_in_place() {
    let ledger = Ledger { id: 1 };
    assert_eq!(busy(|| ledger.closures(may())), BUSY);
    assert_eq!(
        down(|| ledger.closures(may())),
        Err(Outcome::Failed(format!("{SHUT_DOWN} may")))
    );
    assert_eq!(busy(|| ledger.without_self(may())), BUSY);
    assert_eq!(down(|| ledger.without_self(may())), failed());
    assert_eq!(busy_async(ledger.async_closures(may())), BUSY);
    assert_eq!(down_async(ledger.async_closures(may())), failed());
    assert_eq!(busy(|| Ledger { id: 1 }.typed()), Err(Outcome::Busy(1)));
}

#[test]
fn without_a_handler_the_return_type_carries_it() {
    #[auto_mutex(name = "busy", block = 0)]
    fn sync() -> Call {
        panic!("never gets here")
    }
    #[auto_mutex(name = "busy", block = 0)]
    async fn future() -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        panic!("never gets here")
    }
    assert!(matches!(busy(sync), Err(Outcome::Locked(text)) if text.contains("t:busy")));
    assert_eq!(down(sync), Err(Outcome::Locked(SHUT_DOWN.into())));
    let error = busy_async(future()).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(LockError::Timeout { .. })),
        "{error}"
    );
    assert_eq!(down_async(future()).unwrap_err().to_string(), SHUT_DOWN);
}

#[test]
fn each_handler_answers_its_own_case_only() {
    #[auto_mutex(name = "busy", block = 0, on_timeout = || Err(Outcome::Busy(0)))]
    fn timeout() -> Call {
        panic!("never gets here")
    }
    #[auto_mutex(name = "busy", block = 0, on_error = |_| Err(Outcome::Failed(String::new())))]
    async fn error() -> Call {
        panic!("never gets here")
    }
    assert_eq!(busy(timeout), Err(Outcome::Busy(0)));
    assert_eq!(down(timeout), Err(Outcome::Locked(SHUT_DOWN.into())));
    assert!(matches!(busy_async(error()), Err(Outcome::Locked(_))));
    assert_eq!(down_async(error()), Err(Outcome::Failed(String::new())));
}

/// A bug in redis-em-mutex: it called `on_timeout` for the timeout of an inner lock, after half of the body had run.
#[test]
fn a_timeout_inside_the_body_is_the_bodys_own() {
    #[auto_mutex(name = "outer", block = 0, on_timeout = || panic!("not this lock"), on_error = |_| panic!("not this lock"))]
    fn outer(runs: &mut u32) -> Result<u32, LockError> {
        *runs += 1;
        inner()
    }
    #[auto_mutex(name = "outer", block = 0, on_timeout = || panic!("not this lock"), on_error = |_| panic!("not this lock"))]
    async fn outer_async(runs: &mut u32) -> Result<u32, LockError> {
        *runs += 1;
        inner()
    }
    #[auto_mutex(name = "busy", block = 0)]
    fn inner() -> Result<u32, LockError> {
        panic!("never gets here")
    }
    let mut runs = 0;
    assert!(
        matches!(busy(|| outer(&mut runs)), Err(LockError::Timeout { name, .. }) if name == "t:busy")
    );
    assert!(
        matches!(busy_async(outer_async(&mut runs)), Err(LockError::Timeout { name, .. }) if name == "t:busy")
    );
    assert_eq!(runs, 2);
}

#[test]
fn polling_in_vain_is_a_timeout_too() {
    #[auto_mutex(name = "busy", retries = 1, interval = 0.001, on_timeout = skip)]
    fn sync() -> Result<u32, LockError> {
        panic!("never gets here")
    }
    assert_eq!(busy(sync).unwrap(), 0);
}

#[test]
fn skip_returns_a_default() {
    #[auto_mutex(name = "busy", block = 0, on_timeout = skip, on_error = skip)]
    fn nothing(runs: &mut u32) {
        *runs += 1;
    }
    #[auto_mutex(name = "busy", block = 0, on_timeout = skip, on_error = skip)]
    async fn number() -> u32 {
        5
    }
    #[auto_mutex(name = "busy", block = 0, on_timeout = skip, on_error = skip)]
    fn result() -> Result<Vec<u8>, Outcome> {
        Ok(vec![1])
    }
    #[auto_mutex(name = "busy", block = 0, on_timeout = skip, on_error = skip)]
    async fn option() -> Option<Outcome> {
        Some(Outcome::Done(1))
    }
    let mut runs = 0;
    busy(|| nothing(&mut runs));
    down(|| nothing(&mut runs));
    assert_eq!(runs, 0);
    assert_eq!((busy_async(number()), down_async(number())), (0, 0));
    assert_eq!((busy(result), down(result)), (Ok(vec![]), Ok(vec![])));
    assert_eq!((busy_async(option()), down_async(option())), (None, None));
}

#[test]
fn panic_panics_with_the_errors_text() {
    #[auto_mutex(name = "busy", block = 0, on_timeout = panic, on_error = panic)]
    fn sync() -> u32 {
        5
    }
    #[auto_mutex(name = "busy", block = 0, on_timeout = panic, on_error = panic)]
    async fn future() -> u32 {
        5
    }
    let text = |call: &dyn Fn() -> u32| {
        let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("panics");
        panic.downcast_ref::<String>().expect("a text").clone()
    };
    assert!(text(&|| busy(sync)).contains("lock `t:busy` not obtained"));
    assert_eq!(text(&|| down(sync)), SHUT_DOWN);
    assert!(text(&|| busy_async(future())).contains("lock `t:busy` not obtained"));
    assert_eq!(text(&|| down_async(future())), SHUT_DOWN);
}

#[test]
fn functions_called_skip_and_panic_need_a_path() {
    fn skip() -> u32 {
        7
    }
    mod my {
        pub(super) fn panic(_: auto_mutex::LockError) -> u32 {
            8
        }
    }
    #[auto_mutex(name = "busy", block = 0, on_timeout = || skip(), on_error = my::panic)]
    fn call() -> u32 {
        1
    }
    assert_eq!((busy(call), down(call)), (7, 8));
}

#[test]
fn patterns_are_handed_on_whole() {
    struct Point {
        x: u32,
        y: (u32, u32),
    }
    fn sum(Point { x, y: (a, b) }: Point, [c, d]: [u32; 2], _: &str, (e,): (u32,)) -> u32 {
        x + a + b + c + d + e
    }
    #[auto_mutex(name = "busy", block = 0, key = "{x}", on_timeout = sum, on_error = skip)]
    fn sync(Point { x, y: (a, b) }: Point, [mut c, d]: [u32; 2], _: &str, (e,): (u32,)) -> u32 {
        c += x + a + b + d + e;
        c
    }
    let point = || Point { x: 1, y: (2, 3) };
    let client = named_client();
    let _held = client.mutex("busy:1").blocking_lock().unwrap();
    assert_eq!(
        client.blocking_scope(|| sync(point(), [4, 5], "", (6,))),
        21
    );
}

/// The pattern only binds parts behind a reference, so the handler gets the reference itself.
#[test]
fn a_reference_is_handed_on_as_it_is() {
    struct Point {
        x: u32,
        y: (u32, u32),
    }
    fn of_tuple(pair: &(u32, u32)) -> u32 {
        pair.0 + pair.1
    }
    fn of_point(point: &mut Point) -> u32 {
        point.x += 1;
        point.x + point.y.0
    }
    async fn of_array(array: &[u32; 2]) -> &[u32] {
        array
    }
    #[auto_mutex(name = "busy", block = 0, key = a, on_timeout = of_tuple, on_error = skip)]
    fn tuple((a, b): &(u32, u32)) -> u32 {
        a * b
    }
    #[auto_mutex(name = "busy:1", block = 0, on_timeout = |pair| of_tuple(pair), on_error = |_, pair| pair.0)]
    fn closure((a, _): &(u32, u32)) -> u32 {
        *a
    }
    #[auto_mutex(name = "busy:1", block = 0, on_timeout = of_point, on_error = skip)]
    fn point(Point { x, .. }: &mut Point) -> u32 {
        *x = 7;
        *x
    }
    #[auto_mutex(name = "busy:1", block = 0, on_timeout = of_array, on_error = skip)]
    async fn array<'a>(&[a, _]: &'a [u32; 2]) -> &'a [u32] {
        assert_eq!(a, 1);
        &[]
    }
    let mut here = Point { x: 1, y: (2, 3) };
    let client = named_client();
    let held = client.mutex("busy:1").blocking_lock().unwrap();
    assert_eq!(client.blocking_scope(|| tuple(&(1, 2))), 3);
    assert_eq!(client.blocking_scope(|| closure(&(1, 2))), 3);
    assert_eq!(client.blocking_scope(|| point(&mut here)), 4);
    assert_eq!(scoped_on(&client, array(&[1, 2])), [1, 2]);
    drop(held);
    assert_eq!(client.blocking_scope(|| tuple(&(1, 2))), 2);
    assert_eq!(client.blocking_scope(|| point(&mut here)), 7);
    assert_eq!(here.y.1, 3);
}

/// The parameters of a closure cannot be conditional, so a conditional parameter is not passed to it.
#[test]
fn a_conditional_parameter_is_no_argument_of_a_closure() {
    #[auto_mutex(name = "busy", block = 0, on_timeout = |n| n + 1, on_error = |_, n| n)]
    fn absent(n: u32, #[cfg(any())] missing: u32) -> u32 {
        n
    }
    #[auto_mutex(name = "busy", block = 0, on_timeout = |n| n + more, on_error = skip)]
    fn present(n: u32, #[cfg(not(any()))] more: u32) -> u32 {
        n * more
    }
    let client = named_client();
    let _held = client.mutex("busy").blocking_lock().unwrap();
    assert_eq!(client.blocking_scope(|| absent(1)), 2);
    assert_eq!(client.blocking_scope(|| present(1, 5)), 6);
}
