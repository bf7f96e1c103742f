//! The locks that the running task holds.
//!
//! While the body of a protected call is polled (or runs, if it is sync), this thread has a stack with a frame for each
//! hold of the call. A nested call of the same lock finds the frame and re-enters. So a task may move to another
//! thread and may use any runtime; a spawned task is another task. This folder does not know how a lock is obtained.

mod run;

use std::cell::RefCell;
use std::sync::Arc;

use tracing::span::EnteredSpan;

use crate::lease::Bounds;
use crate::name::Name;
use crate::observe::enter_span;
use crate::queue::{Hold, Holds};

pub(crate) use run::{finish, poll_under, run};

struct Frame {
    /// The frames of one body have the same id, and are next to each other.
    id: u64,
    hold: Arc<Hold>,
    /// The bounds of the body.
    bounds: Bounds,
    /// The task that runs the body. A sync body may drive a runtime on this thread; the tasks of that runtime must not
    /// find the frame.
    task: Option<tokio::task::Id>,
}

thread_local! {
    /// Ids grow from the bottom to the top.
    static STACK: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// The frames of one body on this thread's stack. Dropping this value removes them.
///
/// Not `Send`: it must be dropped on the same thread.
#[must_use]
pub(crate) struct Entered {
    id: u64,
    count: usize,
    not_send: std::marker::PhantomData<*const ()>,
}

/// Lets calls on this thread re-enter `holds`, until the result is dropped.
///
/// On a thread that is ending, the stack may be gone. Then calls do not re-enter.
#[inline]
pub(crate) fn enter(holds: &Holds) -> Entered {
    let pushed = STACK.try_with(|stack| {
        let mut stack = stack.borrow_mut();
        let id = stack.last().map_or(1, |top| top.id + 1);
        let task = tokio::task::try_id();
        stack.extend(holds.all().iter().map(|hold| Frame {
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

/// A sync body on this thread: the frames for re-entry, and the span. Dropping this value ends both.
///
/// The span ends first, so that the subscriber gets the end of the span before the lock is released.
#[must_use]
pub(crate) struct Body {
    _span: Option<EnteredSpan>,
    _entered: Entered,
}

/// Like [`enter`], for a sync body that begins now.
#[inline]
pub(crate) fn enter_body(holds: &Holds) -> Body {
    Body {
        _span: enter_span(holds),
        _entered: enter(holds),
    }
}

/// The frames of the running task, the outermost first.
#[inline]
fn frames(stack: &[Frame]) -> impl DoubleEndedIterator<Item = &Frame> {
    // The stack is usually empty. Then the id of the task is not needed.
    let task = match stack {
        [] => None,
        _ => tokio::task::try_id(),
    };
    stack.iter().filter(move |frame| frame.task == task)
}

/// The holds of the protected calls around the running code, the outermost first. They may belong to any client;
/// `which` selects among them. Allocates only if a hold is found. `which` must not run other code, because the stack is
/// borrowed.
#[inline]
pub(crate) fn holds(mut which: impl FnMut(&Hold) -> bool) -> Vec<Arc<Hold>> {
    let found = STACK.try_with(|stack| {
        let mut holds: Vec<Arc<Hold>> = Vec::new();
        for frame in frames(&stack.borrow()) {
            let hold = &frame.hold;
            let known = holds.iter().any(|known| Arc::ptr_eq(known, hold));
            if !known && !hold.is_released() && which(hold) {
                holds.push(hold.clone());
            }
        }
        holds
    });
    found.unwrap_or_default()
}

/// Searches the protected calls around the running code for a hold of `name` for which `suits` is true; returns it with
/// the bounds of its call. Of several such holds, returns the innermost for which `best` is also true. If `best` is true
/// for none of them, returns the innermost.
#[inline]
pub(crate) fn find(
    client: u64,
    name: &Name,
    suits: impl Fn(&Hold) -> bool,
    best: impl Fn(&Hold) -> bool,
) -> Option<Holds> {
    let found = STACK.try_with(|stack| {
        let stack = stack.borrow();
        let is_meant = |hold: &Hold| hold.client_id() == client && hold.name() == name;
        let mut found = frames(&stack)
            .rev()
            .filter(|frame| is_meant(&frame.hold) && suits(&frame.hold));
        let first = found.next()?;
        let chosen = match best(&first.hold) {
            true => first,
            false => found.find(|frame| best(&frame.hold)).unwrap_or(first),
        };
        Some(Holds::from(chosen.hold.clone()).within(chosen.bounds.clone()))
    });
    found.ok().flatten()
}

/// Whether the running task is inside a protected call of this client whose lock is still held.
#[inline]
pub(crate) fn is_inside(client: u64) -> bool {
    let inside = STACK.try_with(|stack| {
        frames(&stack.borrow())
            .any(|frame| frame.hold.client_id() == client && frame.hold.is_valid())
    });
    inside.unwrap_or(false)
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        for _ in 0..self.count {
            // The frame is found by its id, because sync bodies may end in any order. On a thread that is ending, the
            // stack may be gone.
            let frame = STACK.try_with(|stack| {
                let mut stack = stack.borrow_mut();
                if stack.last()?.id == self.id {
                    return stack.pop();
                }
                let index = stack.iter().rposition(|frame| frame.id == self.id)?;
                Some(stack.remove(index))
            });
            // The frame is dropped after the borrow of the stack has ended, because dropping a hold may run other code.
            drop(frame);
        }
    }
}
