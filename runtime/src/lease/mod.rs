//! Leases as a holder sees them: how long a grant is valid here, and how its loss is told.
//!
//! [`Hold`] is one grant, [`Holds`] what one guard has of them; [`Beat`] says when renewals are due. Sending renewals is
//! the queue's part.

mod beat;
mod hold;
mod holds;
mod listeners;

pub(crate) use beat::Beat;
pub(crate) use hold::{Grant, Hold, Terms};
pub(crate) use holds::Holds;
