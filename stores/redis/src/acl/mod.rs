//! [`acl_rule`]: which commands the library needs, as a Redis ACL rule.

use std::collections::BTreeSet;
use std::fmt;

use auto_mutex_seam::store::Layout;
use auto_mutex_seam::{Config, Settings, SetupError};

use crate::engine::uses_database;
use crate::rights;

/// The ACL rule for a user that has only the rights that this library needs on each server with this [`Config`] or URL.
/// [`AclRule::sentinels`] is the rule for sentinels. Does not connect.
///
/// # Errors
///
/// The errors of [`Config::new`], and [`SetupError::InvalidOption`](auto_mutex_seam::SetupError::InvalidOption) for
/// options that cannot work.
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

/// The result of [`acl_rule`]. Its `Display` output is the rule for the servers as `ACL SETUSER` takes it: keys,
/// channels, commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclRule {
    commands: BTreeSet<String>,
    optional: BTreeSet<String>,
    sentinels: Option<String>,
    reads: bool,
}

impl AclRule {
    fn of(settings: &Settings) -> Self {
        let mut commands = rights::of_scripts();
        let mut add = |rights: &[&str]| commands.extend(rights.iter().map(ToString::to_string));
        add(rights::CONNECTION);
        if uses_database(&*settings.engine) {
            add(rights::DATABASE);
        }
        if settings.options.replicas.is_some() {
            add(rights::REPLICAS);
        }
        let mut optional = rights::OPTIONAL.to_vec();
        let mut sentinels = None;
        match settings.engine.layout() {
            Layout::InProcess | Layout::OneServer | Layout::Quorum => {}
            Layout::Sharded => {
                add(rights::CLUSTER);
                optional.extend(rights::SHARD_CHANNELS);
            }
            Layout::Failover => {
                let commands = listed('+', rights::SENTINEL);
                let channel = rights::SWITCHED;
                sentinels = Some(format!(
                    "resetkeys resetchannels &{channel} -@all {commands}"
                ));
            }
        }
        let optional = optional.iter().map(ToString::to_string);
        Self {
            optional: optional.filter(|right| !commands.contains(right)).collect(),
            commands,
            sentinels,
            reads: false,
        }
    }

    /// The rule without its optional commands. The library uses `CONFIG GET` for
    /// `Client::guarantees` and for warnings at set-up; without it, guarantees
    /// that depend on the configuration are `Unknown`. It also lets a user read the passwords in the configuration. The
    /// commands for shard channels of a cluster save work for the nodes; servers before Redis 7 lack them.
    #[must_use]
    pub fn without_optional(mut self) -> Self {
        self.optional.clear();
        self
    }

    /// The rule with the further commands that the module `operator` and the command `auto-mutex` need: to list names,
    /// to skip unused ones, and to find keys that never expire. The rule for sentinels stays the same.
    ///
    /// ```
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let rule = auto_mutex::acl_rule("redis://127.0.0.1:6379")?.operator();
    /// assert!(rule.commands().any(|command| command == "scan"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn operator(mut self) -> Self {
        let more = rights::OPERATOR.iter().map(ToString::to_string);
        self.commands.extend(more);
        self
    }

    /// The rule for a user of the module `operator` who only looks: without channels, and without commands that write
    /// keys or send messages.
    /// [`operator::Operator::kick`](https://docs.rs/auto-mutex/latest/auto_mutex/operator/struct.Operator.html#method.kick)
    /// is refused.
    ///
    /// ```
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let rule = auto_mutex::acl_rule("redis://127.0.0.1:6379")?.read_only();
    /// assert!(rule.commands().all(|command| command != "set"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn read_only(self) -> Self {
        let mut rule = self.operator();
        let reads = |right: &String| !rights::WRITING.contains(&right.as_str());
        rule.commands.retain(reads);
        rule.optional.retain(reads);
        Self {
            reads: true,
            ..rule
        }
    }

    /// The rule with `CLIENT SETINFO`, for servers of version 7.2 and above; older ones refuse this rule. With this
    /// right, `CLIENT LIST` shows this library and its version. Without it, each client's first connection leaves an
    /// entry in the server's `ACL LOG`.
    ///
    /// ```
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let rule = auto_mutex::acl_rule("valkey://127.0.0.1:6379")?.with_setinfo();
    /// assert!(rule.commands().any(|command| command == "client|setinfo"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_setinfo(mut self) -> Self {
        let more = rights::INTRODUCTION.iter().map(ToString::to_string);
        self.optional.extend(more);
        self
    }

    /// The rule for the user on the sentinels, which have their own users. `None` if the URL has no sentinels.
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
            "resetkeys ~auto_mutex:* resetchannels {}-@all {}",
            if self.reads { "" } else { "&auto_mutex:* " },
            listed('+', self.commands())
        )
    }
}

pub(crate) fn listed<T: fmt::Display>(sign: char, names: impl IntoIterator<Item = T>) -> String {
    let names = names.into_iter().map(|name| format!("{sign}{name}"));
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
