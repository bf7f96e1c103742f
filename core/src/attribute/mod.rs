//! The functions that expanded attributes call, re-exported as `auto_mutex::__private`. They are exempt from semantic
//! versioning, because each version of the macro crate requires exactly this version.
#![doc(hidden)]

mod answer;
mod around;
mod borrowed;
mod carry;
mod kind;
mod lead;
mod lock;
mod protect;
mod request;
mod value;

pub use std::boxed::Box;
pub use std::future::Future;
pub use std::marker::PhantomData as Of;
pub use std::option::Option::{None, Some};
pub use std::pin::pin;
pub use std::result::Result::{Err, Ok};

pub use crate::locks::handle::Guard;
pub use crate::locks::leader::{Leader, Overrun};
pub use crate::locks::multi::MultiGuard as Multi;
pub use crate::locks::mutex::MutexGuard as Mutex;
pub use crate::locks::rw_lock::{RwLockReadGuard as Read, RwLockWriteGuard as Write};
pub use crate::locks::semaphore::Permit as Semaphore;
pub use answer::{
    Answer, AtOnce, Inside, IsOwn, NoSelf, OnError, Returns, Skip, answer, on_error, own, panic,
};
pub use around::{
    Entered, Locking, Under, enter, finish, held, locking, under, under_failing, under_finishing,
};
pub use borrowed::{Borrowed, MayRelease};
pub use carry::{ErrorFromLockError, FromLockError, FromOtherError, FromTimeout};
pub use kind::{
    Done, IsFuture, Otherwise, ReturnType, Value, make, never, require_done, require_value,
};
pub use lead::{Carrier, LeadOutput, Standing, standing};
pub use lock::{Call, Lock};
pub use protect::{
    Ask, Protect, Protection, ask, asking_multi, asking_mutex, asking_read, asking_semaphore,
    asking_write, failed, failing, finishing, protection,
};
pub use request::Request;
pub use value::{IsClient, IsDuration, KeyList, KeyPart, KeyPlace, Nothing};

pub use crate::__auto_mutex_site as site;
pub use crate::caller::assert_held;
pub use crate::site::Declared;
