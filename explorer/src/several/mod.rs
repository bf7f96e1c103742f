//! Calls for several names. Each name is a [`World`](crate::name::world::World) of its own, in which no time passes;
//! the calls are [`Together`](auto_mutex_protocol::client::Together)s, as they ship. What is here is what the shell
//! does for one: it enters names, gives them back, and tells the call what has become of them.

mod properties;
mod runs;
mod world;

pub use self::properties::{EXCLUSION, GETS_IN, KEEPS_SHARED, NOTHING_LEFT, ORDER, WHOLE};
pub use self::runs::all;
pub use self::world::{Action, World};

use auto_mutex_protocol::client::Patience;

use crate::name::rules::Setup;

/// A run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How many names there are, all of which each call takes.
    pub names: usize,
    /// How often each client calls.
    pub calls: u8,
    /// How long each call waits.
    pub patience: Patience,
    /// The task of a call has one of the names already: each client another one.
    pub nested: bool,
    /// The rules of each name.
    pub name: Setup,
}

crate::check::model!(Rules, World, Action, properties::all);
