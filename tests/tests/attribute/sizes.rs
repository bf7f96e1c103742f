//! The cost of a protected call compared with its body: memory in its future, stack during a poll, depth of types.

use std::future::Future;
use std::process::{Command, Stdio};

use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore};
use tokio::task::yield_now;

use crate::support::{named_client, scoped_on};

const KIB: usize = 1024;
const BUFFER: usize = 200 * KIB;

type Outcome = Result<u8, LockError>;

/// Keeps a buffer across an await.
async fn keep_buffer() -> Outcome {
    let mut buffer = [1; BUFFER];
    std::hint::black_box(&mut buffer);
    yield_now().await;
    std::hint::black_box(&mut buffer);
    Ok(buffer[BUFFER / 2])
}

async fn failed(_: LockError) -> Outcome {
    keep_buffer().await
}

async fn busy(_: u8) -> Outcome {
    keep_buffer().await
}

/// Annotated functions that keep a buffer. The body is not a call of [`keep_buffer`], whose future would be one more.
macro_rules! keeping_a_buffer {
    ($($name:ident: $attribute:meta)*) => {
        $(
            #[$attribute]
            async fn $name(n: u8) -> Outcome {
                let mut buffer = [n; BUFFER];
                std::hint::black_box(&mut buffer);
                yield_now().await;
                std::hint::black_box(&mut buffer);
                Ok(buffer[BUFFER / 2])
            }
        )*
    };
}

keeping_a_buffer! {
    bare: auto_mutex
    guarded: auto_mutex(guard = _g)
    finishing: auto_mutex(on_lost = finish)
    with_error: auto_mutex(on_error = failed)
    with_both: auto_mutex(on_timeout = busy, on_error = failed)
    with_closures: auto_mutex(on_timeout = async |_| keep_buffer().await, on_error = async |_| keep_buffer().await)
    finishing_with_error: auto_mutex(guard = _g, on_lost = finish, on_error = failed)
}

#[test]
fn a_future_stores_the_body_or_a_handler() {
    for (call, size) in [
        ("bare", size_of_val(&bare(1))),
        ("guarded", size_of_val(&guarded(1))),
        ("finishing", size_of_val(&finishing(1))),
        ("with_error", size_of_val(&with_error(1))),
        ("with_both", size_of_val(&with_both(1))),
        ("with_closures", size_of_val(&with_closures(1))),
        (
            "finishing_with_error",
            size_of_val(&finishing_with_error(1)),
        ),
    ] {
        assert!(size < BUFFER + 2 * KIB, "{call}: {size}");
    }
}

/// An array that is an argument, and lives across an await.
type Argument = [u8; KIB];

async fn plain(data: Argument) -> Outcome {
    yield_now().await;
    Ok(data[0])
}

/// Annotated functions with the body of [`plain`].
macro_rules! as_plain {
    ($($name:ident: $attribute:meta)*) => {
        $(
            #[$attribute]
            async fn $name(data: Argument) -> Outcome {
                yield_now().await;
                Ok(data[0])
            }
        )*
    };
}

async fn late(_: Argument) -> Outcome {
    Ok(2)
}

as_plain! {
    locked: auto_mutex
    keyed: auto_mutex(key = 1)
    with_keys: auto_mutex(keys = [1, 2])
    with_was: auto_mutex(was = "t:old")
    with_both_kinds: auto_mutex(keys = [1, 2], was = "t:old")
    with_guard: auto_mutex(guard = _g)
    with_timeout: auto_mutex(on_timeout = late)
    with_timeout_and_keys: auto_mutex(on_timeout = late, keys = [1, 2])
    limited: auto_semaphore(permits = 3)
    reading: auto_read
}

/// Each argument is stored as often as in the plain future.
#[test]
fn a_call_adds_little_to_a_future() {
    let size = size_of_val(&plain([0; KIB]));
    let calls = [
        ("locked", size_of_val(&locked([0; KIB]))),
        ("keyed", size_of_val(&keyed([0; KIB]))),
        ("with_keys", size_of_val(&with_keys([0; KIB]))),
        ("with_was", size_of_val(&with_was([0; KIB]))),
        ("with_both_kinds", size_of_val(&with_both_kinds([0; KIB]))),
        ("limited", size_of_val(&limited([0; KIB]))),
        ("reading", size_of_val(&reading([0; KIB]))),
    ];
    for (call, of_call) in calls {
        assert!(of_call <= size + 400, "{call}: {size} -> {calls:?}");
    }
    // These need the arguments outside the body until the lock is granted: a body with a guard begins only then, and a
    // handler may take them.
    for of_call in [
        size_of_val(&with_guard([0; KIB])),
        size_of_val(&with_timeout([0; KIB])),
        size_of_val(&with_timeout_and_keys([0; KIB])),
    ] {
        assert!(of_call <= size + KIB + 400, "{size} -> {of_call}");
    }
}

/// The environment variable of the child process that polls a future: the name of the call, and the size of the stack.
const CALL: &str = "AUTO_MUTEX_CALL_ON_STACK";

/// A stack overflow ends the process, so each attempt runs in its own.
fn fits(call: &str, stack: usize) -> bool {
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "sizes::a_future_needs_little_more_stack_than_the_body",
            "--exact",
        ])
        .env(CALL, format!("{call} {stack}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.expect("it starts").success()
}

/// Returns the smallest sufficient stack, rounded up by at most 16 KiB.
fn stack_of(call: &str) -> usize {
    let (mut too_little, mut enough) = (BUFFER, 64 * BUFFER);
    assert!(fits(call, enough), "{call}");
    while enough - too_little > 16 * KIB {
        let half = (too_little + enough) / 2;
        match fits(call, half) {
            true => enough = half,
            false => too_little = half,
        }
    }
    enough
}

/// Gives each future its own stack frame, because the frame of a debug build has space for every variable.
#[inline(never)]
fn poll<F: Future<Output = Outcome>>(make: fn() -> F) {
    let client = named_client();
    let call = Box::pin(client.scope(async move { make().await }));
    assert_eq!(futures::executor::block_on(call).expect("the lock"), 1);
}

#[test]
fn a_future_needs_little_more_stack_than_the_body() {
    if let Ok(call) = std::env::var(CALL) {
        let (call, stack) = call.split_once(' ').expect("two words");
        let poll: fn() = match call {
            "plain" => || poll(keep_buffer),
            "bare" => || poll(|| bare(1)),
            "guarded" => || poll(|| guarded(1)),
            "finishing" => || poll(|| finishing(1)),
            call => panic!("{call}"),
        };
        let thread = std::thread::Builder::new().stack_size(stack.parse().expect("bytes"));
        thread
            .spawn(poll)
            .expect("a thread")
            .join()
            .expect("an answer");
        return;
    }
    let plain = stack_of("plain");
    for call in ["bare", "guarded", "finishing"] {
        let stack = stack_of(call);
        assert!(stack <= plain + plain / 2, "{call}: {plain} -> {stack}");
    }
}

/// Makes functions, each of which calls the one before it.
macro_rules! nested {
    ($($caller:ident $callee:ident)*) => {
        $(
            #[auto_mutex]
            async fn $caller() -> Outcome {
                $callee().await
            }
        )*
    };
}

#[auto_mutex]
async fn n0() -> Outcome {
    Ok(1)
}

nested! {
    n1 n0 n2 n1 n3 n2 n4 n3 n5 n4 n6 n5 n7 n6 n8 n7 n9 n8 n10 n9 n11 n10 n12 n11 n13 n12
    n14 n13 n15 n14 n16 n15 n17 n16 n18 n17 n19 n18 n20 n19 n21 n20 n22 n21 n23 n22 n24 n23
}

/// To find out whether a future is `Send`, the compiler looks through at most 128 nested types.
#[test]
fn twenty_five_calls_inside_one_another_compile() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    let call = send(n24());
    assert_eq!(scoped_on(&named_client(), call).expect("the locks"), 1);
}
