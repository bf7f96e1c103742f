//! Leading: processes that stand for one seat, lead, and stand again.
//!
//! Each is a client of [`world`](crate::name::world) with the [`leading`](auto_mutex_protocol::leading) of the protocol
//! on it, as it ships; around them are bodies, and the process. A process that runs looks at its term before time goes
//! on. A suspended one does nothing, and its clock goes on.

mod action;
mod enabled;
mod happen;
pub mod properties;
pub mod rules;
pub mod runs;
mod seat;
mod service;
mod world;

pub use self::action::Action;
pub use self::seat::{Office, Seat, Stage};
pub use self::world::{Past, World};

crate::check::model!(rules::Setup, World, Action, properties::all);
