//! Any number of readers, or one writer; neither side starves.

mod downgrading;
mod nesting;
mod queueing;
mod sharing;

pub(crate) use downgrading::*;
pub(crate) use nesting::*;
pub(crate) use queueing::*;
pub(crate) use sharing::*;
