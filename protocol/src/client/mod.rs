//! What the calls of one client do: the rules of each name ([`State`]), and what its names share: [`Servers`] and
//! [`Phase`]. A call for several names is a [`Together`].

mod call;
mod env;
mod hold;
mod input;
mod name;
mod servers;
mod together;

pub use self::call::{AskId, Call, CallId, Caller, Patience, Tenure, Want};
pub use self::env::{ClientTimes, Env, Phase, View};
pub use self::hold::{Ended, Grant, Hold, Via, cause_of_end};
pub use self::input::{Effect, Failure, Input};
pub use self::name::{Load, State};
pub use self::servers::{Changed, News, Outage, Servers};
pub use self::together::{Slot, Together, TogetherEffect, TogetherInput};
