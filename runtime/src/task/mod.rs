//! Which locks the running task holds, tracked by poll scope.
//!
//! While the body of a protected call is polled (or runs, if it is sync), a frame for each of its holds lies on a
//! stack of this thread. A nested call of the same lock finds it there and re-enters. So "the same
//! task" needs neither a thread nor a runtime, and a spawned task is another one. What a lock is, and how it
//! is obtained, is not known here.

mod run;

use std::cell::RefCell;
use std::sync::Arc;

use crate::lease::{Bounds, Hold, Holds};
use crate::name::Name;

pub(crate) use run::{finish, poll_under, run};

struct Frame {
    /// Frames of one body have one id, and lie side by side.
    id: u64,
    hold: Arc<Hold>,
    /// Those of the body.
    bounds: Bounds,
    /// A sync body may drive a runtime on this thread: its other tasks must not find the frame.
    task: Option<tokio::task::Id>,
}

#[derive(Default)]
struct Stack {
    frames: Vec<Frame>,
    last_id: u64,
}

thread_local! {
    static STACK: RefCell<Stack> = RefCell::default();
}

/// The frames of one body on this thread's stack, until it is dropped.
///
/// Not `Send`: it must be dropped on the thread that they lie on.
#[must_use]
pub(crate) struct Entered {
    id: u64,
    count: usize,
    not_send: std::marker::PhantomData<*const ()>,
}

/// Lets calls on this thread re-enter `holds`, until the result is dropped.
///
/// A thread that is ending has no stack any more: its last calls do not re-enter.
#[inline]
pub(crate) fn enter(holds: &Holds) -> Entered {
    let pushed = STACK.try_with(|stack| {
        let mut stack = stack.borrow_mut();
        stack.last_id += 1;
        let (id, task) = (stack.last_id, tokio::task::try_id());
        stack.frames.extend(holds.all().iter().map(|hold| Frame {
            id,
            hold: hold.clone(),
            bounds: holds.bounds().clone(),
            task,
        }));
        id
    });
    Entered {
        id: pushed.unwrap_or_default(),
        count: holds.all().len(),
        not_send: std::marker::PhantomData,
    }
}

/// A hold of `name` that an enclosing protected call of the running task has, within the bounds of that call: the innermost
/// that `suits`, preferably one that is `best`.
#[inline]
pub(crate) fn find(
    client: u64,
    name: &Name,
    suits: impl Fn(&Hold) -> bool,
    best: impl Fn(&Hold) -> bool,
) -> Option<Holds> {
    let found = STACK.try_with(|stack| {
        let stack = stack.borrow();
        if stack.frames.is_empty() {
            return None;
        }
        let task = tokio::task::try_id();
        let frames = stack.frames.iter().rev();
        let is_meant = |hold: &Hold| hold.client_id() == client && hold.name() == name;
        let mut found = frames
            .filter(|frame| frame.task == task && is_meant(&frame.hold) && suits(&frame.hold));
        let first = found.next()?;
        let chosen = match best(&first.hold) {
            true => first,
            false => found.find(|frame| best(&frame.hold)).unwrap_or(first),
        };
        Some(Holds::from(chosen.hold.clone()).within(chosen.bounds.clone()))
    });
    found.ok().flatten()
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        for _ in 0..self.count {
            // By id: guards of sync bodies may be dropped in any order. The thread may be ending.
            let frame = STACK.try_with(|stack| {
                let mut stack = stack.borrow_mut();
                if stack.frames.last()?.id == self.id {
                    return stack.frames.pop();
                }
                let index = stack.frames.iter().rposition(|frame| frame.id == self.id)?;
                Some(stack.frames.remove(index))
            });
            // Dropped after the borrow: a hold may run code of its own.
            drop(frame);
        }
    }
}
