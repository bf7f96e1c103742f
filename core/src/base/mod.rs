//! The basis of everything else: names, errors, time, threads, waiting. Nothing here knows how a lock works.

pub(crate) mod address;
pub mod clock;
pub(crate) mod duration;
pub(crate) mod error;
pub(crate) mod name;
pub(crate) mod process;
pub(crate) mod sync;
pub(crate) mod task;
pub(crate) mod wait;

use std::future::Future;
use std::pin::Pin;

/// A future in a box.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
