//! The calls for one name: clients are [`client::State`](auto_mutex_protocol::client::State)s and the store is a
//! [`State`](auto_mutex_protocol::State). Around them are a network, clocks, crashes, restarts and failovers
//! ([`world`]); [`rules`] says what may happen in a run, [`properties`] what must hold, and [`runs`] lists the runs.
//! [`way`] follows a way from one state to the next.

pub mod properties;
pub mod random;
pub mod rules;
pub mod runs;
pub mod way;
pub mod world;

use self::rules::Setup;
use self::world::{Action, World};

crate::check::model!(Setup, World, Action, properties::all);
