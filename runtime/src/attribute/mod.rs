//! What the attributes expand to calls: re-exported as `auto_mutex::__private`, for expansions only.
//!
//! [`Site`] describes an annotated function, [`request`] collects what a call asks for, [`value`] says what options take, [`lock`] what each attribute locks, [`around`] runs the body
//! under the lock, [`carry`] and [`answer`] say what is returned without it. Locks themselves are
//! the handles' business. Nothing here is covered by semantic versioning: the macro crate is pinned to the
//! very version of this one.

mod answer;
mod around;
mod carry;
mod kind;
mod lock;
mod request;
mod value;

pub use std::boxed::Box;
pub use std::option::Option::{None, Some};
pub use std::result::Result::{Err, Ok};
pub use std::time::Duration;

pub use crate::handle::Guard;
pub use answer::{Answer, AtOnce, Inside, IsOwn, Skip, answer, own, panic};
pub use around::{
    Around, Scope, acquire, around, around_finishing, blocking_acquire, enter, finish, run,
};
pub use carry::{ErrorFromLockError, FromLockError, is_timeout};
pub use kind::{IsFuture, IsValue, Otherwise, Probe, Value, make, never, require_value};
pub use lock::{Lock, Multi, Mutex, Read, Semaphore, Write};
pub use request::Request;
pub use value::{IsDuration, KeyList, KeyPart, OwnerName};

pub use crate::site::{Attribute, Listed, Owner, Site, State};
pub use inventory::submit;
