//! [`Login`]: the credentials for a server.

use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Address, Granted, Secret, Source};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<Secret>,
    pub(crate) password: Option<Secret>,
    /// Called for each connection. With a provider, `user` and `password` are `None`.
    pub(crate) source: Option<Source>,
}

impl Login {
    /// A user without a password logs in with an empty password, which suits a `nopass` user.
    pub(super) fn new(user: String, password: String) -> Self {
        let has_password = !user.is_empty() || !password.is_empty();
        Self {
            user: (!user.is_empty()).then(|| Secret::new(user)),
            password: has_password.then(|| Secret::new(password)),
            source: None,
        }
    }

    pub(crate) fn ask(&mut self, source: Source) -> Result<(), &'static str> {
        if self.user.is_some() || self.password.is_some() {
            return Err("the URL has a user or a password, too: leave that to the provider");
        }
        self.source = Some(source);
        Ok(())
    }

    /// A provider gets `limit` to answer. Cancel safe.
    pub(crate) async fn granted(
        &self,
        address: &Address,
        limit: Duration,
    ) -> Result<Granted, StoreError> {
        match &self.source {
            Some(source) => source.ask(address, limit).await,
            None => Ok(Granted {
                user: self.user.clone(),
                password: self.password.clone(),
                ..Granted::default()
            }),
        }
    }
}
