//! The stack of a thread: a frame for each lock of a body that runs here, and for each scope of a client.
//!
//! A frame is on the stack only while its body or scope is polled (or runs, if it is sync). So a task may move to
//! another thread and may use any runtime.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use tracing::span::EnteredSpan;

use super::Caller;
use super::body::enter_span;
use super::held::HeldLock;
use crate::queue::{Holds, OpenClient};

struct Frame {
    /// The frames of one body have the same id, and are next to each other.
    id: u64,
    /// The task that the frame belongs to. A sync body or scope may drive a runtime on this thread; the other tasks of
    /// that runtime must not find the frame.
    task: Option<tokio::task::Id>,
    content: Content,
}

enum Content {
    /// A lock of a body.
    Lock(HeldLock),
    /// A scope of a client.
    Scope(Arc<OpenClient>),
}

thread_local! {
    /// Ids grow from the bottom to the top.
    static STACK: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
    /// The stack of a thread that is ending, whose `STACK` is gone: destructors of thread-locals may make calls. It has
    /// no destructor itself, so an empty one owns no memory.
    static LATE: ManuallyDrop<RefCell<Vec<Frame>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Lends the stack of this thread. `run` must run no code of users.
#[inline]
fn with_stack<T>(run: impl FnOnce(&mut Vec<Frame>) -> T) -> T {
    if STACK.try_with(|_| ()).is_ok() {
        return STACK.with_borrow_mut(run);
    }
    LATE.with(|stack| {
        let mut stack = stack.borrow_mut();
        let result = run(&mut stack);
        if stack.is_empty() {
            *stack = Vec::new();
        }
        result
    })
}

/// The frames of one body or scope. Dropping this value removes them.
///
/// Not `Send`: it must be dropped on the same thread.
#[must_use]
pub(crate) struct Entered {
    frames: Frames,
    not_send: PhantomData<*const ()>,
}

impl Entered {
    /// For an owner that must be `Send`, although it drops the frames on this thread.
    pub(super) fn frames(self) -> Frames {
        self.frames
    }
}

/// See [`Entered`].
#[derive(Debug)]
#[must_use]
pub(super) struct Frames {
    id: u64,
    count: usize,
}

/// Makes the running task the holder of `holds`, until the result is dropped.
#[inline]
pub(crate) fn enter(holds: &Holds) -> Entered {
    let bounds = holds.bounds();
    let locks = holds.all().iter().map(|hold| {
        Content::Lock(HeldLock {
            hold: hold.clone(),
            bounds: bounds.clone(),
        })
    });
    push(locks)
}

/// Makes `client` the client in force for the running task, until the result is dropped.
pub(super) fn enter_scope(client: Arc<OpenClient>) -> Entered {
    push(std::iter::once(Content::Scope(client)))
}

#[inline]
fn push(contents: impl ExactSizeIterator<Item = Content>) -> Entered {
    let count = contents.len();
    let id = with_stack(|stack| {
        let id = stack.last().map_or(1, |top| top.id + 1);
        let task = tokio::task::try_id();
        stack.extend(contents.map(|content| Frame { id, task, content }));
        id
    });
    Entered {
        frames: Frames { id, count },
        not_send: PhantomData,
    }
}

/// Adds the locks of the running task to `caller`, the outermost first, and the client of its innermost scope.
#[inline]
pub(super) fn scan(caller: &mut Caller) {
    with_stack(|stack| {
        // The stack is usually empty. Then the id of the task is not needed.
        if stack.is_empty() {
            return;
        }
        let task = tokio::task::try_id();
        for frame in stack.iter().filter(|frame| frame.task == task) {
            match &frame.content {
                Content::Lock(lock) => caller.locks.push(lock.clone()),
                Content::Scope(client) => caller.scope = Some(client.clone()),
            }
        }
    });
}

/// A sync body on this thread: its frames, and its span. Dropping this value ends both.
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

impl Drop for Frames {
    #[inline]
    fn drop(&mut self) {
        for _ in 0..self.count {
            // The frame is found by its id, because sync bodies may end in any order.
            let frame = with_stack(|stack| {
                if stack.last()?.id == self.id {
                    return stack.pop();
                }
                let index = stack.iter().rposition(|frame| frame.id == self.id)?;
                Some(stack.remove(index))
            });
            // The frame is dropped after the borrow of the stack has ended, because dropping a hold or the last clone
            // of a client may run other code.
            drop(frame);
        }
    }
}
