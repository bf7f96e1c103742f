//! The stack of a thread: a frame for each body and each client scope that is running here. Async ones have a frame
//! only while they are polled, so a task may move to another thread and use any runtime.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use tracing::span::EnteredSpan;

use super::Caller;
use super::body::enter_span;
use crate::queue::{Holds, OpenClient};

struct Frame {
    id: u64,
    /// A sync body or scope may drive a runtime on this thread. Other tasks of that runtime must not find the frame.
    task: Option<tokio::task::Id>,
    content: Content,
}

enum Content {
    Locks(Holds),
    Scope(Arc<OpenClient>),
}

thread_local! {
    /// Ids increase from bottom to top.
    static STACK: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
    /// For an ending thread whose `STACK` is gone, because destructors of thread-locals may make calls. It needs no
    /// destructor: while empty, it owns no memory.
    static LATE: ManuallyDrop<RefCell<Vec<Frame>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// `run` must not run user code.
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

/// Removes the frame when dropped. Not `Send`, because that must happen on this thread.
#[must_use]
pub(crate) struct Entered(u64, PhantomData<*const ()>);

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        leave(self.0);
    }
}

#[inline]
pub(crate) fn enter(holds: &Holds) -> Entered {
    Entered(push_locks(holds), PhantomData)
}

pub(super) fn enter_scope(client: Arc<OpenClient>) -> Entered {
    Entered(push(Content::Scope(client)), PhantomData)
}

/// The span ends first, so that the subscriber sees its end before the lock is released.
pub(crate) type Body = (Option<EnteredSpan>, Entered);

#[inline]
pub(crate) fn enter_body(holds: &Holds) -> Body {
    (enter_span(holds), enter(holds))
}

/// The frame stays until [`leave`] is called on this thread with the result.
#[inline]
pub(super) fn push_locks(holds: &Holds) -> u64 {
    push(Content::Locks(holds.clone()))
}

#[inline]
fn push(content: Content) -> u64 {
    with_stack(|stack| {
        let id = stack.last().map_or(1, |top| top.id + 1);
        let task = tokio::task::try_id();
        stack.push(Frame { id, task, content });
        id
    })
}

#[inline]
pub(super) fn leave(id: u64) {
    // Found by its id, because sync bodies may end in any order.
    let frame = with_stack(|stack| {
        if stack.last()?.id == id {
            return stack.pop();
        }
        let index = stack.iter().rposition(|frame| frame.id == id)?;
        Some(stack.remove(index))
    });
    // Dropped after the borrow of the stack, because dropping a hold or a client's last clone may run other code.
    drop(frame);
}

/// The locks of the innermost body.
pub(super) fn innermost() -> Option<Holds> {
    with_stack(|stack| {
        let task = tokio::task::try_id();
        let mut frames = stack.iter().rev().filter(|frame| frame.task == task);
        frames.find_map(|frame| match &frame.content {
            Content::Locks(holds) => Some(holds.clone()),
            Content::Scope(_) => None,
        })
    })
}

/// Visits the outermost locks first.
#[inline]
pub(super) fn scan(caller: &mut Caller) {
    with_stack(|stack| {
        if stack.is_empty() {
            return;
        }
        let task = tokio::task::try_id();
        for frame in stack.iter().filter(|frame| frame.task == task) {
            match &frame.content {
                Content::Locks(holds) => caller.push(holds.clone()),
                Content::Scope(client) => caller.scope = Some(client.clone()),
            }
        }
    });
}
