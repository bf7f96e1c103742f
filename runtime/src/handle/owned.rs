//! Acting on what is held through a handle, without its guard.

use std::sync::Arc;
use std::time::Duration;

use super::Handle;
use crate::error::{LockError, LossCause};
use crate::name::escape;
use crate::queue::{Answered, Confirmed, Hold, Holds, Unlocked, check_refresh};
use crate::store::{Meta, Op, Owner, Reply, SharedStr};
use crate::task;

impl Handle {
    /// What this handle or a protected call around has of this lock.
    fn held_here(&self) -> Result<Option<Holds>, LockError> {
        let target = self.resolve()?;
        let inside = |suits: &dyn Fn(&Hold) -> bool| {
            task::find(target.client.id(), &target.name, suits, |_| true)
        };
        if let Some(owner) = &self.owner {
            let member = target.client.member();
            let held = member.with_queue(&target.name, |local| Some(local.held_by(owner)))?;
            let around = |held: &Arc<Hold>| inside(&|hold| std::ptr::eq(hold, &**held));
            return Ok(held.map(|held| around(&held).unwrap_or_else(|| held.into())));
        }
        Ok(inside(&Hold::is_valid).or_else(|| self.last.as_ref()?.holds()))
    }

    /// Whose it is, if not the calling task's.
    #[inline]
    pub(super) fn owner(&self) -> Result<Option<&Owner>, LockError> {
        match &self.owner {
            Some(Owner::Here(owner) | Owner::Anywhere(owner)) if owner.is_empty() => {
                Err(LockError::InvalidOption {
                    option: "owner",
                    reason: "it is empty: name somebody, or leave it out",
                })
            }
            owner => Ok(owner.as_ref()),
        }
    }

    /// For an owner in the whole cluster the store is asked: its holds may be in other processes.
    fn ask_about_owner(
        &self,
        op: impl FnOnce(SharedStr) -> Op,
    ) -> Result<Option<Answered>, LockError> {
        match self.owner()? {
            Some(Owner::Anywhere(owner)) => {
                let op = op(escape(owner).to_string().into());
                self.ask(&op).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether the answer to [`ask_owner`](Self::ask_owner) says that its owner holds.
    pub(crate) fn is_owner(&self, reply: &Reply) -> bool {
        match (&self.owner, reply) {
            (Some(Owner::Anywhere(owner)), Reply::Info(record)) => {
                let holders = record.holders.iter().filter(|holder| !holder.parked);
                holders
                    .into_iter()
                    .any(|holder| Meta::names(&holder.meta, owner))
            }
            _ => false,
        }
    }

    /// Asks who holds it; `None` if the owner could only hold it here.
    pub(crate) fn ask_owner(&self) -> Result<Option<Answered>, LockError> {
        self.ask_about_owner(|_| Op::Inspect)
    }

    /// Releases what the owner has in other processes; `None` if it could only hold it here.
    pub(crate) fn unlock_owner(&self) -> Result<Option<Answered>, LockError> {
        self.ask_about_owner(|owner| Op::Force { owner })
    }

    /// Lets `expire` count again in other processes; `None` if the owner could only hold it here.
    pub(crate) fn refresh_owner(&self, expire: Duration) -> Result<Option<Answered>, LockError> {
        check_refresh(expire)?;
        self.ask_about_owner(|owner| Op::Refresh { owner, expire })
    }

    /// What the answer to [`refresh_owner`](Self::refresh_owner) means.
    pub(crate) fn told(&self, reply: &Reply) -> Result<(), LockError> {
        match reply {
            Reply::Told { holders } if *holders > 0 => Ok(()),
            _ => Err(self.not_held()?),
        }
    }

    fn not_held(&self) -> Result<LockError, LockError> {
        Ok(LockError::Lost {
            name: self.address.resolve()?.name.to_string(),
            held: Duration::ZERO,
            cause: LossCause::Released,
        })
    }

    /// Asks the store whether it is held; `None` if it is not, as is known here.
    pub(crate) fn confirm(&self) -> Result<Option<Confirmed>, LockError> {
        let renew = |holds: Holds| holds.first().local().renew(holds.first());
        Ok(self.held_here()?.and_then(renew))
    }

    pub(crate) fn refresh(&self, expire: Duration) -> Result<Confirmed, LockError> {
        let Some(holds) = self.held_here()? else {
            return Err(self.not_held()?);
        };
        check_refresh(expire)?;
        holds.restart_bounds(expire)?;
        let hold = holds.first();
        let confirmed = hold.local().refresh(hold, expire)?;
        confirmed.ok_or_else(|| hold.lost_error())
    }

    /// Releases it, however many guards share it; `None` if nothing is held here.
    pub(crate) fn unlock(&self) -> Result<Option<Unlocked>, LockError> {
        let unlock = |holds: Holds| holds.first().local().unlock(holds.first());
        Ok(self.held_here()?.map(unlock))
    }
}

/// What the store's answer to [`Handle::confirm`] means.
pub(crate) fn owned(confirmed: Result<(), LockError>) -> Result<bool, LockError> {
    match confirmed {
        Ok(()) => Ok(true),
        Err(LockError::Lost { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
