//! What the crate `auto-mutex-operator` does with a client: breaks a hold.

use super::Client;
use crate::base::error::{LockError, SetupError};
use crate::base::name::Name;
use crate::base::wait::block_on;
use crate::config::Settings;
use crate::store::{Op, Reply, TOKENS_OF_A_GRANT};

#[doc(hidden)]
impl Client {
    /// Connects a client that never holds a lock to the store of `settings`.
    pub fn without_holds(settings: &Settings) -> Result<Self, SetupError> {
        Self::with(settings.without_holds())
    }

    /// Breaks the hold of `name` with this fencing token, and returns whether there was one.
    pub fn kick(&self, name: &Name, token: u64) -> Result<bool, LockError> {
        let token = token / TOKENS_OF_A_GRANT;
        let kick = Op::Kick { token };
        let asked = self.member().with_queue(name, |local| local.query(&kick))?;
        let reply = block_on(asked.wait())?;
        Ok(matches!(reply, Reply::Freed { holders } if holders > 0))
    }
}
