//! [`gated`]: a task of a host. It stands still while the host is suspended, ends when the host is killed, and otherwise
//! runs in an order that is left to chance.

use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use auto_mutex_core::hook::block_on;
use tokio::task::JoinHandle;

use super::member::{DEAD, Member, RUNS, STANDS};

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

/// Starts a task of the host. Its output is `None` if the host was killed.
pub(super) fn spawn<F>(member: &Arc<Member>, task: F) -> JoinHandle<Option<F::Output>>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(gated(member.clone(), Box::pin(task)))
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
/// It goes on if this future is dropped. A panic of the work is passed on. Panics if the host was killed.
#[must_use = "await it for the output"]
#[derive(Debug)]
pub struct Running<T>(pub(super) JoinHandle<Option<T>>);

impl<T> Running<T> {
    /// Whether the work has ended, or the host was killed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// The output, or `None` if the host was killed.
    pub async fn outcome(self) -> Option<T> {
        match self.0.await {
            Ok(output) => output,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            Err(_) => None,
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
        match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(Some(output)) => Poll::Ready(output),
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            _ => {
                panic!("the host was killed, so its work has no output; await `outcome()` instead")
            }
        }
    }
}
