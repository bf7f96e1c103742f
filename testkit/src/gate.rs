//! [`gated`]: a task of a host. It stands still while the host is suspended, ends when the host is killed, and
//! otherwise runs in an order that is left to chance.

use std::any::Any;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use auto_mutex_core::hook::block_on;
use tokio::task::JoinHandle;

use super::member::{DEAD, Member, RUNS, STANDS};
use super::world::Shared;

/// How often a task lets the others go first, at most.
const LETS_OTHERS_GO: u64 = 3;

/// Gives all other tasks a turn. (Tokio's `yield_now` also asks the system for events.)
pub(super) async fn others_first() {
    let mut had = false;
    let turn = poll_fn(|cx| match std::mem::replace(&mut had, true) {
        true => Poll::Ready(()),
        false => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    });
    turn.await;
}

thread_local! {
    static IS_ON_HOST: Cell<bool> = const { Cell::new(false) };
}

/// Whether a task of a host runs here.
pub(super) fn is_on_host() -> bool {
    IS_ON_HOST.get()
}

/// Starts a task of the host.
pub(super) fn spawn<F>(member: &Arc<Member>, task: F) -> Running<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let world = member.world();
    let number = world.as_ref().map_or(0, |world| world.task_number());
    let world = world.as_ref().map(Arc::downgrade).unwrap_or_default();
    let task = noted(
        number,
        member.clone(),
        gated(member.clone(), Box::pin(task)),
    );
    Running {
        task: tokio::spawn(task),
        world,
        number,
    }
}

/// Tells the World of a panic.
async fn noted<T>(number: u64, member: Arc<Member>, task: impl Future<Output = T>) -> T {
    let mut task = pin!(task);
    let output = poll_fn(|cx| {
        let outer = IS_ON_HOST.replace(true);
        let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(cx)));
        IS_ON_HOST.set(outer);
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    });
    output.await.unwrap_or_else(|panic| {
        if let Some(world) = member.world() {
            world.note_panic(number, &member.host, message(&*panic));
        }
        resume_unwind(panic)
    })
}

pub(super) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("with something that is no text")
}

async fn gated<T>(member: Arc<Member>, mut task: Pin<Box<impl Future<Output = T>>>) -> Option<T> {
    loop {
        let mut changed = pin!(member.changed.notified());
        changed.as_mut().enable();
        match member.state() {
            DEAD => return None,
            STANDS => {
                changed.await;
                continue;
            }
            _ => {}
        }
        if let Some(world) = member.world() {
            for _ in 0..world.below(1 + LETS_OTHERS_GO) {
                others_first().await;
            }
            world.note_activity();
        }
        if member.state() != RUNS {
            continue;
        }
        let mut was_polled = false;
        let output = poll_fn(|cx| {
            // Woken again, by the task or by a change of the host.
            if std::mem::replace(&mut was_polled, true) {
                return Poll::Ready(None);
            }
            let _ = changed.as_mut().poll(cx);
            task.as_mut().poll(cx).map(Some)
        });
        let output = output.await;
        if output.is_some() {
            return output;
        }
    }
}

/// The work of a host in a [`World`](super::World), as a future of its output.
///
/// It goes on if this future is dropped. A panic of the work is passed on; if nobody awaits it, the test fails at its
/// end. Panics if the host was killed.
#[must_use = "await it for the output"]
#[derive(Debug)]
pub struct Running<T> {
    task: JoinHandle<Option<T>>,
    world: Weak<Shared>,
    number: u64,
}

impl<T> Running<T> {
    /// Whether the work has ended, or the host was killed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// The output, or `None` if the host was killed.
    pub async fn outcome(mut self) -> Option<T> {
        poll_fn(|cx| self.poll_outcome(cx)).await
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        match ready!(Pin::new(&mut self.task).poll(cx)) {
            Ok(output) => Poll::Ready(output),
            Err(error) if error.is_panic() => {
                if let Some(world) = self.world.upgrade() {
                    world.took_panic(self.number);
                }
                resume_unwind(error.into_panic())
            }
            Err(_) => Poll::Ready(None),
        }
    }

    /// Waits for the output, in blocking code on a [thread](super::World::thread) of the World.
    ///
    /// # Panics
    ///
    /// As the future does.
    pub fn blocking_join(self) -> T {
        block_on(self)
    }
}

impl<T> Future for Running<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let output = ready!(self.poll_outcome(cx));
        Poll::Ready(
            output.expect(
                "the host was killed, so its work has no output; await `outcome()` instead",
            ),
        )
    }
}
