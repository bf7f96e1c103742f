//! The requester as the store keeps it: [`Meta`]; and the owner that a call names: [`Owner`].

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{HolderRecord, SharedStr, TicketRecord};
use crate::error::kind::RW_LOCK;
use crate::error::{HoldKind, Holder, LockKind};

/// The owner that a call names in place of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// All calls of this client with this owner share a hold.
    Here(Arc<str>),
    /// All calls in the cluster with this owner share a hold.
    Anywhere(Arc<str>),
}

impl Owner {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Here(name) | Self::Anywhere(name) => name,
        }
    }

    /// The owner as the store keeps it: escaped, and empty for an owner within this client.
    pub(crate) fn in_store(owner: Option<&Self>) -> SharedStr {
        match owner {
            Some(Self::Anywhere(owner)) => crate::name::escape(owner).to_string().into(),
            _ => SharedStr::default(),
        }
    }
}

/// The holder or waiter, as text in the store.
///
/// Three percent-escaped words: host, process id, site; with an owner, a fourth.
pub(crate) struct Meta;

impl Meta {
    pub(crate) fn write(host: &str, pid: u32, site: &str, owner: Option<&Owner>) -> SharedStr {
        use crate::name::escape;
        let text = format!("{} {pid} {}", escape(host), escape(site));
        match owner {
            Some(owner) => Self::owned(&text, owner),
            None => text.into(),
        }
    }

    /// Appends an owner to `meta`.
    pub(crate) fn owned(meta: &str, owner: &Owner) -> SharedStr {
        let (scope, owner) = match owner {
            Owner::Here(owner) => (HERE, owner),
            Owner::Anywhere(owner) => (ANYWHERE, owner),
        };
        format!("{meta}{scope}{}", crate::name::escape(owner)).into()
    }

    /// `None` if this library did not write it.
    pub(crate) fn read(record: &HolderRecord) -> Option<Holder> {
        use crate::name::unescape;
        let mut words = record.meta.split(' ');
        let host = unescape(words.next()?);
        let pid = words.next()?.parse().ok()?;
        let site = unescape(words.next()?);
        // The fourth word is the owner.
        if words.nth(1).is_some() {
            return None;
        }
        Some(Holder {
            host,
            pid,
            site,
            since: at(record.token),
            owner: Self::owner(&record.meta),
            kind: None,
            units: None,
        })
    }

    /// Like [`read`](Self::read), for a ticket of a name with this capacity; for a waiter, what it would hold.
    pub(crate) fn describe(ticket: &TicketRecord, capacity: u32) -> Option<Holder> {
        let holder = Self::read(&HolderRecord {
            token: ticket.since,
            meta: ticket.meta.clone(),
        })?;
        let kind = match LockKind::of(capacity, ticket.takes) {
            LockKind::Mutex => HoldKind::Mutex,
            LockKind::Semaphore => HoldKind::Permit,
            LockKind::RwLock if ticket.units == RW_LOCK => HoldKind::Writer,
            LockKind::RwLock => HoldKind::Reader,
        };
        Some(Holder {
            kind: Some(kind),
            units: Some(ticket.units),
            ..holder
        })
    }

    /// The owner that `meta` names.
    pub(crate) fn owner(meta: &str) -> Option<String> {
        let named = meta.split_once(HERE).or_else(|| meta.split_once(ANYWHERE));
        named.map(|(_, owner)| crate::name::unescape(owner))
    }

    /// Whether `meta` names `owner` as an owner in the cluster.
    pub(crate) fn names(meta: &str, owner: &str) -> bool {
        let named = meta.split_once(ANYWHERE).map(|(_, owner)| owner);
        named == Some(crate::name::escape(owner).to_string().as_str())
    }
}

/// A time of the store, which counts microseconds.
fn at(micros: u64) -> SystemTime {
    // Each grant raises the token by at least a microsecond, so fast grants bring the token ahead of the clock.
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(micros));
    let now = SystemTime::now();
    time.map_or(now, |time| time.min(now))
}

/// The separator before a client's own owner. No escaped word contains a colon or a space.
const HERE: &str = " here:";
const ANYWHERE: &str = " anywhere:";
