//! [`Weakness`]: what a deployment does not guarantee, and what to do about it.

use crate::base::target::STORE;
use thiserror::Error;

use crate::base::clock;
use crate::base::wait::Limit;

use super::listed;
use super::{AfterFailover, AfterRestart, Eviction, Guarantees, commands};

/// A setting that could let two clients think they hold the same lock. Its `Display` output says what to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Weakness {
    /// The store is `memory://`, so locks only hold within this process.
    #[error(
        "the lock store is memory://, so locks hold within this process only: in production use redis://, or another \
         URL that all processes share"
    )]
    InProcessOnly,

    /// `auto_mutex::test::skip_locks` was called, so no lock excludes anybody.
    #[error(
        "locks are skipped (`auto_mutex::test::skip_locks`): they exclude nobody, which is for tests only"
    )]
    LocksSkipped,

    /// A lock may be evicted.
    #[error(
        "the lock store may evict locks when its memory is full (maxmemory-policy is {policy}): set maxmemory-policy \
         to noeviction, in a managed service among its parameters, or use a server for locks alone that allows it"
    )]
    Eviction {
        /// The server's `maxmemory-policy`.
        policy: String,
    },

    /// A killed server may lose its latest locks.
    #[error(
        "the lock store may forget its latest locks when it is killed: set appendonly to yes and appendfsync to always \
         (Redis) or fsync to on (PostgreSQL), or use `Config::restart_guard` (Redis), or check fencing tokens"
    )]
    RestartForgetsLast,

    /// A killed server loses all locks.
    #[error(
        "the lock store forgets all locks when it is killed: set appendonly to yes and appendfsync to always, or use \
         `Config::restart_guard`, or check fencing tokens"
    )]
    RestartForgets,

    /// A replaced primary still grants.
    #[error(
        "the lock store has replicas, and would keep granting locks after it was cut off and one of them was \
         promoted: set min-replicas-to-write to 1 or more (Redis), or use a tool that stops the old primary before \
         it promotes a standby (PostgreSQL; Patroni does)"
    )]
    OldPrimaryGoesOn,

    /// The server does not report a failover.
    #[error(
        "the lock store does not report when a replica has taken over (its INFO has no master_replid2), so locks may be \
         granted again at once after a failover: use Redis or Valkey itself, or check fencing tokens"
    )]
    FailoverUnnoticed,

    /// [`Config::trust_failover`](crate::Config::trust_failover) is on.
    #[error(
        "failovers of the lock store are trusted to lose no locks (`Config::trust_failover`), but a lock that one \
         loses is granted twice: check fencing tokens"
    )]
    FailoverTrusted,

    /// Something is unknown.
    #[error("it is not known {what}: {reason}")]
    Unknown {
        /// The unknown setting or fact.
        what: &'static str,
        /// Why it is unknown, and what to do about it.
        reason: String,
    },
}

pub fn log(weaknesses: &[Weakness]) {
    static OF_MEMORY: Limit = Limit::once();
    for weakness in weaknesses {
        match weakness {
            Weakness::InProcessOnly if OF_MEMORY.pass(clock::now()).is_none() => {}
            Weakness::InProcessOnly => tracing::info!(target: STORE, "{weakness}"),
            _ => tracing::warn!(target: STORE, "{weakness}"),
        }
    }
}

pub(super) fn of(guarantees: &Guarantees) -> Vec<Weakness> {
    let mut reasons = Vec::new();
    if !guarantees.disabled_commands.is_empty() {
        reasons.push(format!(
            "the server of the lock store does not answer {}, as is usual for managed services: check its settings in the service's console",
            commands(&guarantees.disabled_commands)
        ));
    }
    if !guarantees.missing_rights.is_empty() {
        reasons.push(format!(
            "the user of the lock store lacks {} (see `auto_mutex::acl_rule`; a managed service may grant it to nobody)",
            listed('+', &guarantees.missing_rights)
        ));
    }
    let reason = match reasons.is_empty() {
        true => "a server of the lock store could not be asked".to_owned(),
        false => reasons.join("; "),
    };
    let unknown = |what| Weakness::Unknown {
        what,
        reason: reason.clone(),
    };
    let eviction = match &guarantees.eviction {
        Eviction::Never | Eviction::NoLimit { .. } => None,
        Eviction::Possible { policy } => Some(Weakness::Eviction {
            policy: policy.clone(),
        }),
        Eviction::Unknown => Some(unknown("whether locks may be evicted when memory is full")),
    };
    let restart = match guarantees.restart {
        AfterRestart::NoServer if guarantees.skipped => Some(Weakness::LocksSkipped),
        AfterRestart::NoServer => Some(Weakness::InProcessOnly),
        AfterRestart::Kept | AfterRestart::Closed { .. } => None,
        AfterRestart::LastForgotten => Some(Weakness::RestartForgetsLast),
        AfterRestart::Forgotten => Some(Weakness::RestartForgets),
        AfterRestart::Unknown => Some(unknown("whether locks survive a restart of the server")),
    };
    let failover = match guarantees.failover {
        AfterFailover::NoReplicas | AfterFailover::Closed { .. } => None,
        AfterFailover::OldPrimaryGoesOn { .. } => Some(Weakness::OldPrimaryGoesOn),
        AfterFailover::Unnoticed => Some(Weakness::FailoverUnnoticed),
        AfterFailover::Trusted => Some(Weakness::FailoverTrusted),
        AfterFailover::Unknown => Some(unknown("what a failover does to locks")),
    };
    [eviction, restart, failover]
        .into_iter()
        .flatten()
        .collect()
}
