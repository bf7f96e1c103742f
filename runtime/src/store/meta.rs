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
/// Three percent-escaped words: machine, process id, site; with an owner, a fourth word. The machine is the host,
/// followed by a comma and the pod if the pod differs from the host. (No host name contains a comma. Clients that do
/// not know of pods take the whole word for the host.)
pub(crate) struct Meta;

impl Meta {
    /// The first word.
    pub(crate) fn machine(host: &str, pod: Option<&str>) -> String {
        use crate::name::escape;
        let host = escape(host);
        match pod {
            Some(pod) => format!("{host}{POD}{}", escape(pod)),
            None => host.to_string(),
        }
    }

    /// `machine` is [such a word](Self::machine).
    pub(crate) fn write(machine: &str, pid: u32, site: &str, owner: Option<&Owner>) -> SharedStr {
        let text = format!("{machine} {pid} {}", crate::name::escape(site));
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
        let machine = words.next()?;
        let (host, pod) = match machine.split_once(POD) {
            Some((host, pod)) => (host, Some(unescape(pod))),
            None => (machine, None),
        };
        let pid = words.next()?.parse().ok()?;
        let site = unescape(words.next()?);
        // The fourth word is the owner.
        if words.nth(1).is_some() {
            return None;
        }
        Some(Holder {
            host: unescape(host),
            pod,
            pid,
            site,
            since: at(record.token),
            owner: Self::owner(&record.meta),
            kind: None,
            units: None,
        })
    }

    /// Like [`read`](Self::read), but with the kind and the units; for a waiter, of the hold that it waits for.
    /// `capacity` is the capacity of the name.
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

/// The separator before a pod.
const POD: char = ',';
/// The separator before a client's own owner. No escaped word contains a colon or a space.
const HERE: &str = " here:";
const ANYWHERE: &str = " anywhere:";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(meta: SharedStr) -> Option<Holder> {
        Meta::read(&HolderRecord { token: 1, meta })
    }

    #[test]
    fn a_pod_comes_with_its_host_and_costs_others_nothing() {
        let owner = Owner::Here("me".into());
        for (pod, words) in [
            (None, "node-1 7 f%20at%20x"),
            (
                Some("prod/books-x2x8q"),
                "node-1,prod/books-x2x8q 7 f%20at%20x",
            ),
        ] {
            let machine = Meta::machine("node-1", pod);
            let meta = Meta::write(&machine, 7, "f at x", None);
            assert_eq!(&*meta, words);
            let holder = read(meta).unwrap();
            assert_eq!((&*holder.host, holder.pod.as_deref()), ("node-1", pod));
            assert_eq!((holder.pid, &*holder.site), (7, "f at x"));
            let holder = read(Meta::write(&machine, 7, "f", Some(&owner))).unwrap();
            assert_eq!(holder.pod.as_deref(), pod);
            assert_eq!(holder.owner.as_deref(), Some("me"));
        }
    }

    #[test]
    fn strange_machines_do_no_harm() {
        let machine = Meta::machine("a b:c", Some("x, y"));
        let holder = read(Meta::write(&machine, 7, "f", None)).unwrap();
        assert_eq!(
            (&*holder.host, holder.pod.as_deref()),
            ("a b:c", Some("x, y"))
        );
    }
}
