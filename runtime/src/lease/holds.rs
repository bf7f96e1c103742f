//! [`Holds`]: what one guard has, of one name or of several.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::slice;
use std::sync::Arc;
use std::task::Poll;

use super::Hold;

/// One hold or several, cheap to clone. Never none.
#[derive(Clone, Debug)]
pub struct Holds(Inner);

#[derive(Clone, Debug)]
enum Inner {
    One(Arc<Hold>),
    Several(Arc<[Arc<Hold>]>),
}

impl Holds {
    pub(crate) fn all(&self) -> &[Arc<Hold>] {
        match &self.0 {
            Inner::One(hold) => slice::from_ref(hold),
            Inner::Several(holds) => holds,
        }
    }

    /// The only one, or the first of several.
    pub(crate) fn first(&self) -> &Arc<Hold> {
        &self.all()[0]
    }

    /// Completes once one of them is lost or was released.
    pub(crate) async fn ended(&self) {
        match &self.0 {
            Inner::One(hold) => hold.ended().await,
            Inner::Several(holds) => {
                let mut ends: Vec<_> = holds.iter().map(|hold| hold.ended()).collect();
                poll_fn(|cx| {
                    let mut ends = ends.iter_mut();
                    match ends.any(|end| Pin::new(end).poll(cx).is_ready()) {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                })
                .await;
            }
        }
    }
}

impl From<Vec<Arc<Hold>>> for Holds {
    fn from(holds: Vec<Arc<Hold>>) -> Self {
        Self(Inner::Several(holds.into()))
    }
}

impl From<Arc<Hold>> for Holds {
    fn from(hold: Arc<Hold>) -> Self {
        Self(Inner::One(hold))
    }
}
