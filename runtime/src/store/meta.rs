//! Who asks and for whom, as the store keeps it: [`Meta`], [`Owner`].

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{HolderRecord, Text};
use crate::error::Holder;

/// Whose a hold is, instead of the calling task's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Whoever names it in this client.
    Here(Arc<str>),
    /// Whoever names it in the cluster.
    Anywhere(Arc<str>),
}

impl Owner {
    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Here(name) | Self::Anywhere(name) => name,
        }
    }

    /// It as the store knows it: empty if it is of no concern to other processes.
    pub(crate) fn in_store(owner: Option<&Self>) -> Text {
        match owner {
            Some(Self::Anywhere(owner)) => crate::name::escape(owner).to_string().into(),
            _ => Text::default(),
        }
    }
}

/// Who a ticket belongs to, in the form the store keeps.
///
/// Three percent-escaped words: host, process id, site; and a fourth for an owner.
pub(crate) struct Meta;

impl Meta {
    pub(crate) fn write(host: &str, pid: u32, site: &str, owner: Option<&Owner>) -> Text {
        use crate::name::escape;
        let text = format!("{} {pid} {}", escape(host), escape(site));
        match owner {
            Some(owner) => Self::owned(&text, owner),
            None => text.into(),
        }
    }

    /// With an owner behind it.
    pub(crate) fn owned(meta: &str, owner: &Owner) -> Text {
        let (scope, owner) = match owner {
            Owner::Here(owner) => (HERE, owner),
            Owner::Anywhere(owner) => (ANYWHERE, owner),
        };
        format!("{meta}{scope}{}", crate::name::escape(owner)).into()
    }

    /// `None` for what this library did not write.
    pub(crate) fn read(record: &HolderRecord) -> Option<Holder> {
        use crate::name::unescape;
        let mut words = record.meta.split(' ');
        let host = unescape(words.next()?);
        let pid = words.next()?.parse().ok()?;
        let site = unescape(words.next()?);
        // The fourth is the owner.
        if words.nth(1).is_some() {
            return None;
        }
        Some(Holder {
            host,
            pid,
            site,
            // Many grants within a microsecond bring the token ahead of the clock.
            since: (SystemTime::UNIX_EPOCH + Duration::from_micros(record.token))
                .min(SystemTime::now()),
        })
    }

    /// The owner that `meta` names.
    pub(crate) fn owner(meta: &str) -> Option<String> {
        let named = meta.split_once(HERE).or_else(|| meta.split_once(ANYWHERE));
        named.map(|(_, owner)| crate::name::unescape(owner))
    }

    /// Whether `meta` names `owner` as one of the cluster.
    pub(crate) fn names(meta: &str, owner: &str) -> bool {
        let named = meta.split_once(ANYWHERE).map(|(_, owner)| owner);
        named == Some(crate::name::escape(owner).to_string().as_str())
    }
}

/// What stands before an owner. No escaped word contains a colon or a space.
const HERE: &str = " here:";
const ANYWHERE: &str = " anywhere:";
