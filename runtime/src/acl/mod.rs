//! [`acl_rule`]: what the library must be allowed to do, as Redis writes it down.

use std::collections::BTreeSet;
use std::fmt;

use crate::config::{Config, Endpoint, Settings};
use crate::error::SetupError;
use crate::store::rights;

/// The ACL rule for a user that does exactly what this library does with such a [`Config`], or URL: on each server,
/// and, see [`AclRule::sentinels`], on each sentinel. Nothing is connected to.
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

/// What [`acl_rule`] returns. Its Display is the words of the rule for the servers, as `ACL SETUSER` takes them: keys,
/// channels, commands.
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
                let channels: Vec<_> = rights::SENTINEL_CHANNELS
                    .iter()
                    .map(|channel| format!("&{channel}"))
                    .collect();
                sentinels = Some(format!(
                    "resetkeys resetchannels {} -@all {}",
                    channels.join(" "),
                    allowed(rights::SENTINEL)
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

    /// The rule without what it does without too. `CONFIG GET` serves [`Client::guarantees`](crate::Client::guarantees) and the
    /// warnings of set-up, but who may do that may read passwords that are in the configuration; what then is not known, is said.
    /// The shard channels of a cluster save its nodes work, and servers before Redis 7 do not know them.
    #[must_use]
    pub fn without_optional(mut self) -> Self {
        self.optional.clear();
        self
    }

    /// The rule for the users of the sentinels, which are others than those of the servers; `None` where there are no
    /// sentinels.
    #[must_use]
    pub fn sentinels(&self) -> Option<&str> {
        self.sentinels.as_deref()
    }

    /// The commands of the servers, as `command` or `command|subcommand`, in the order of the alphabet.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let all: BTreeSet<_> = self.commands.union(&self.optional).collect();
        all.into_iter().map(String::as_str)
    }
}

impl fmt::Display for AclRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commands: Vec<_> = self.commands().collect();
        write!(
            f,
            "resetkeys ~auto_mutex:* resetchannels &auto_mutex:* -@all {}",
            allowed(&commands)
        )
    }
}

fn allowed(commands: &[&str]) -> String {
    let commands: Vec<_> = commands.iter().map(|name| format!("+{name}")).collect();
    commands.join(" ")
}

#[cfg(test)]
mod tests;
