//! Recognizes, by their vtables, wakers that only mark a task as ready or unblock a thread: tokio's, and those of
//! [`block_on`]. Other wakers may run arbitrary code.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll, RawWakerVTable, Waker};

use once_cell::race::OnceBox;
use tokio::runtime::Runtime;

use super::super::block_on;

/// Not guarded by a lock, on which a forked child could hang.
static KNOWN: OnceBox<[&RawWakerVTable; 5]> = OnceBox::new();
/// Tokio's come first.
const OF_TOKIO: usize = 3;

fn functions(cx: &Context<'_>) -> &'static RawWakerVTable {
    // Use the vtable of a clone, because futures keep clones, which may have another vtable.
    cx.waker().clone().vtable()
}

fn own() -> impl Future<Output = &'static RawWakerVTable> {
    poll_fn(|cx| Poll::Ready(functions(cx)))
}

/// The runtime must not be running yet.
pub(super) fn learn(runtime: &Runtime) {
    KNOWN.get_or_init(|| {
        // Other runtimes, and `Handle::block_on`, unpark the calling thread.
        let main = runtime.block_on(own());
        let parked = runtime.handle().block_on(own());
        let task = runtime.block_on(async { tokio::spawn(own()).await });
        let [waiting, looking] = [block_on::functions(), Waker::noop().vtable()];
        Box::new([task.unwrap_or(main), main, parked, waiting, looking])
    });
}

#[inline]
pub(super) fn is_known(waker: &Waker) -> bool {
    is_one_of(waker, usize::MAX)
}

/// Always `false` before the first background thread.
#[inline]
pub(crate) fn is_of_tokio(waker: &Waker) -> bool {
    is_one_of(waker, OF_TOKIO)
}

#[inline]
fn is_one_of(waker: &Waker, count: usize) -> bool {
    let functions = waker.vtable();
    let mut known = KNOWN.get().into_iter().flatten().take(count);
    known.any(|known| std::ptr::eq(*known, functions) || **known == *functions)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use tokio::runtime::Builder;

    use super::*;

    struct Foreign;

    impl Wake for Foreign {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn tokios_wakers_are_known_wherever_a_future_runs_and_others_are_not() {
        learn(&Builder::new_current_thread().build().unwrap());
        let known = || {
            let mut looks = 0;
            poll_fn(move |cx| {
                assert!(is_known(&cx.waker().clone()));
                assert_eq!(
                    is_of_tokio(cx.waker()),
                    tokio::runtime::Handle::try_current().is_ok()
                );
                cx.waker().wake_by_ref();
                looks += 1;
                match looks {
                    3 => Poll::Ready(true),
                    _ => Poll::Pending,
                }
            })
        };
        for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
            let runtime = builder.enable_all().build().unwrap();
            assert!(runtime.block_on(known()), "main");
            let task = runtime.block_on(async move { tokio::spawn(known()).await });
            assert!(task.unwrap(), "a task");
            let local = tokio::task::LocalSet::new();
            let task = local.block_on(
                &runtime,
                async move { tokio::task::spawn_local(known()).await },
            );
            assert!(task.unwrap(), "a local task");
        }
        assert!(block_on::block_on(known()));
        assert!(!is_known(&Arc::new(Foreign).into()));
    }
}
