//! The basis of everything else: names, errors, time, threads, waiting. Nothing here knows how a lock works.

pub mod address;
pub mod clock;
pub mod duration;
pub mod error;
pub mod name;
pub mod process;
pub mod sync;
pub mod target;
pub mod task;
pub mod wait;

use std::future::Future;
use std::pin::Pin;

/// A future in a box.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
