//! Leases as a holder sees them: how long a grant is valid here, and how its loss is told.
//!
//! [`Hold`] is one grant, [`Holds`] what one guard has of them, within the [`Bounds`] of nested calls; [`Beat`] says when renewals are due. Sending renewals is
//! the queue's part.

mod beat;
mod bound;
mod hold;
mod holds;
mod listeners;

pub(crate) use beat::Beat;
pub(crate) use bound::{Bound, Bounds, WeakBounds};
pub(crate) use hold::{Grant, Hold, Terms};
pub(crate) use holds::Holds;
