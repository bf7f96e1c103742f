//! [`acl_rule`]: which commands the library needs, as a Redis ACL rule.

use std::collections::BTreeSet;
use std::fmt;

use crate::config::{Config, Endpoint, Settings};
use crate::error::SetupError;
use crate::store::rights;

/// The ACL rule for a user that may do exactly what this library does with this [`Config`] or URL, on each server; that
/// for sentinels is [`AclRule::sentinels`]. Does not connect.
///
/// # Errors
///
/// As [`Config::new`], and for options that cannot work.
///
/// ```
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// let rule = auto_mutex::acl_rule("redis://127.0.0.1:6379")?;
/// println!("ACL SETUSER locks reset on >PASSWORD {rule}");
/// assert!(rule.to_string().starts_with("resetkeys ~auto_mutex:* resetchannels &auto_mutex:* -@all +"));
/// # Ok(()) }
/// ```
pub fn acl_rule<C>(config: C) -> Result<AclRule, SetupError>
where
    C: TryInto<Config>,
    SetupError: From<C::Error>,
{
    Ok(AclRule::of(&config.try_into()?.validate()?))
}

/// What [`acl_rule`] returns. Its Display is the rule for the servers, as `ACL SETUSER` takes it: keys, channels,
/// commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclRule {
    commands: BTreeSet<String>,
    optional: BTreeSet<String>,
    sentinels: Option<String>,
}

impl AclRule {
    fn of(settings: &Settings) -> Self {
        let mut commands = rights::of_scripts();
        let mut add = |rights: &[&str]| commands.extend(rights.iter().map(ToString::to_string));
        add(rights::CONNECTION);
        if settings.endpoint.db() != 0 {
            add(rights::DATABASE);
        }
        if settings.replicas.is_some() {
            add(rights::REPLICAS);
        }
        let mut optional = rights::OPTIONAL.to_vec();
        let mut sentinels = None;
        match settings.endpoint {
            Endpoint::Memory { .. } | Endpoint::Redis(_) | Endpoint::Quorum(_) => {}
            Endpoint::Cluster(_) => {
                add(rights::CLUSTER);
                optional.extend(rights::SHARD_CHANNELS);
            }
            Endpoint::Sentinel(_) => {
                sentinels = Some(format!(
                    "resetkeys resetchannels {} -@all {}",
                    listed('&', rights::SENTINEL_CHANNELS),
                    listed('+', rights::SENTINEL)
                ));
            }
        }
        let optional = optional.iter().map(ToString::to_string);
        Self {
            optional: optional.filter(|right| !commands.contains(right)).collect(),
            commands,
            sentinels,
        }
    }

    /// The rule without its optional commands. `CONFIG GET` is for [`Client::guarantees`](crate::Client::guarantees)
    /// and the warnings of set-up, but also lets the user read passwords in the configuration; without it, guarantees
    /// that depend on it are `Unknown`. The shard channels of a cluster save work for its nodes; servers before Redis 7
    /// do not have them.
    #[must_use]
    pub fn without_optional(mut self) -> Self {
        self.optional.clear();
        self
    }

    /// The rule with what [`operator`](crate::operator) and the command `auto-mutex` need beside what locks need: to
    /// list names, and to find keys without an end. It changes nothing for sentinels.
    #[must_use]
    pub fn operator(mut self) -> Self {
        let more = rights::OPERATOR.iter().map(ToString::to_string);
        self.commands.extend(more);
        let commands = &self.commands;
        self.optional.retain(|right| !commands.contains(right));
        self
    }

    /// The rule for the users of the sentinels, which have users of their own; `None` where there are no sentinels.
    #[must_use]
    pub fn sentinels(&self) -> Option<&str> {
        self.sentinels.as_deref()
    }

    /// The commands for the servers, as `command` or `command|subcommand`, in alphabetical order.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let all: BTreeSet<_> = self.commands.union(&self.optional).collect();
        all.into_iter().map(String::as_str)
    }
}

impl fmt::Display for AclRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "resetkeys ~auto_mutex:* resetchannels &auto_mutex:* -@all {}",
            listed('+', self.commands())
        )
    }
}

/// `+get +set`, as ACL rules list commands and channels.
pub(crate) fn listed<T: fmt::Display>(sign: char, names: impl IntoIterator<Item = T>) -> String {
    let names = names.into_iter().map(|name| format!("{sign}{name}"));
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
