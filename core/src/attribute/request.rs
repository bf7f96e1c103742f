//! [`Request`]: the options of one call of an annotated function.

use std::borrow::Cow;
use std::iter;
use std::marker::PhantomData;
use std::mem;

use super::value::{IsClient, IsDuration, KeyList, KeyPart, KeyPlace};
use crate::base::duration::doubt_block;
use crate::base::error::LockError;
use crate::base::name::{Name, NameBuilder};
use crate::caller::Caller;
use crate::locks::client::Client;
use crate::locks::handle::{AcquireTarget, Options, Reentry, Taking};
use crate::locks::leader::{Leader, Leading, Overrun, Seat};
use crate::locks::multi::{MultiGuard, take};
use crate::locks::mutex::MutexGuard;
use crate::locks::semaphore::{self, Permit};
use crate::site::{Declared, OfClient, Site};
use crate::store::{Share, SharedStr};

/// Borrows nothing, so that it can be kept across an await.
#[derive(Debug)]
pub struct Request<L> {
    site: &'static Site,
    self_type: &'static str,
    client: Option<Client>,
    /// The parts of each key; empty if there is no key.
    keys: Vec<Vec<String>>,
    /// Whether `keys = …` was given, even with an empty list.
    several: bool,
    /// Whether `Display` failed for a part of a key.
    key_failed: bool,
    permits: u32,
    /// Boxed, because few calls need more than the site's options, and each call copies its request several times.
    given: Option<Box<Given>>,
    lock: PhantomData<fn() -> L>,
}

#[derive(Debug)]
struct Given {
    options: Options,
    owner: Option<std::sync::Arc<str>>,
    /// Whether the name in the option `was` is inside the namespace, and how it begins.
    was: Option<(bool, &'static str)>,
    /// If empty, the parts of the key complete the name of `was`.
    was_parts: Vec<String>,
    /// For a leader.
    leading: Leading,
}

impl Given {
    fn old_name(&self, namespace: Option<&str>, key: &[String]) -> Option<NameBuilder> {
        let (in_namespace, fixed) = self.was?;
        let namespace = namespace.filter(|_| in_namespace);
        let parts = match self.was_parts.is_empty() {
            true => key,
            false => &self.was_parts,
        };
        Some(match (namespace, fixed, parts) {
            (None, "", [first, rest @ ..]) => NameBuilder::new(first).parts(rest),
            (Some(namespace), "", parts) => NameBuilder::new(namespace).parts(parts),
            (namespace, fixed, parts) => NameBuilder::verbatim_in(namespace, fixed).parts(parts),
        })
    }
}

#[inline]
fn options_of(site: &'static Site, self_type: &'static str) -> Options {
    Options {
        lengths: site.data.lengths,
        label: Some(site.label_of(self_type)),
        ..Options::default()
    }
}

impl<L> Request<L> {
    pub fn new(site: &'static Declared) -> Self {
        Self::of::<()>(site)
    }

    pub fn of<T: ?Sized>(site: &'static Declared) -> Self {
        Self {
            site: site.site(),
            self_type: std::any::type_name::<T>(),
            client: None,
            keys: Vec::new(),
            several: false,
            key_failed: false,
            permits: 0,
            given: None,
            lock: PhantomData,
        }
    }

    #[inline]
    pub(super) fn of_kind<K>(self) -> Request<K> {
        Request {
            site: self.site,
            self_type: self.self_type,
            client: self.client,
            keys: self.keys,
            several: self.several,
            key_failed: self.key_failed,
            permits: self.permits,
            given: self.given,
            lock: PhantomData,
        }
    }

    fn given(&mut self) -> &mut Given {
        self.given.get_or_insert_with(|| {
            Box::new(Given {
                options: options_of(self.site, self.self_type),
                owner: None,
                was: None,
                was_parts: Vec::new(),
                leading: Leading::default(),
            })
        })
    }

    pub fn client<M, C: IsClient<M> + ?Sized>(&mut self, client: &C) {
        self.client = Some(client.client().clone());
    }

    pub fn length<D: IsDuration>(&mut self, option: &'static str, length: D) {
        let options = &mut self.given().options;
        options.set(option, length);
        if option == "block" {
            doubt_block::<D>(options.lengths.block.unwrap_or_default());
        }
    }

    pub fn retries(&mut self, retries: u32) {
        self.given().options.retries = Some(retries);
    }

    pub fn max_waiters(&mut self, most: u32) {
        self.given().options.set_max_waiters(most);
    }

    pub fn part<M, P: KeyPart<M> + ?Sized>(&mut self, before: &str, part: &P, after: &str) {
        let text = self.shown(before, part, after);
        match self.keys.last_mut() {
            Some(key) => key.push(text),
            None => self.keys.push(vec![text]),
        }
    }

    fn shown<M, P: KeyPart<M> + ?Sized>(&mut self, before: &str, part: &P, after: &str) -> String {
        let mut text = before.to_owned();
        self.key_failed |= !part.write(&mut text);
        text.push_str(after);
        text
    }

    #[inline]
    fn resolve(&self, caller: &Caller) -> Result<(Cow<'static, Client>, Options), LockError> {
        let client = match &self.client {
            Some(client) => Cow::Owned(client.clone()),
            None => Client::in_force(caller)?,
        };
        let mut options = match &self.given {
            Some(given) => given.options,
            None => options_of(self.site, self.self_type),
        };
        let as_configured = client.core().settings().reentrant;
        options.reentry = match self.site.data.reentrant.unwrap_or(as_configured) {
            true => Reentry::Enters,
            false => Reentry::Deadlock,
        };
        Ok((client, options))
    }

    #[inline]
    pub(super) fn start(&self, share: Option<Share>, blocking: bool) -> Result<Taking, LockError> {
        let share = match share {
            Some(share) => share,
            None if self.permits == 0 => {
                let reason = "zero lets nobody in: give at least one";
                return Err(LockError::invalid("permits", reason));
            }
            None => semaphore::share(1, self.permits)?,
        };
        let caller = Caller::current(blocking);
        let (client, options) = self.resolve(&caller)?;
        let known = self.known(&client);
        let name = match known.and_then(|known| known.name.as_ref()) {
            Some(name) if self.keys.is_empty() => Cow::Borrowed(name),
            _ => Cow::Owned(self.keyed(known, &client)?),
        };
        client.core().check(&name)?;
        let owner = self.given.as_ref().and_then(|given| given.owner.as_ref());
        let meta = self.meta(known, &client);
        let target = AcquireTarget::new(Cow::Borrowed(&*client), name, meta, owner);
        target.start(&caller, &options, share, None)
    }

    fn keyed(&self, known: Option<&OfClient>, client: &Client) -> Result<Name, LockError> {
        let key = self.keys.first().map(Vec::as_slice).unwrap_or_default();
        self.finish(self.site.keyed(self.scope(known, client), key))
    }

    fn scope(&self, known: Option<&OfClient>, client: &Client) -> NameBuilder {
        match known.and_then(|known| known.scope.as_ref()) {
            Some(scope) => scope.clone(),
            None => self.site.called(client.namespace(), self.self_type),
        }
    }

    /// The site's cache, if it is for `client`: it is for the first client that the site used.
    #[inline]
    fn known(&self, client: &Client) -> Option<&'static OfClient> {
        self.site.of_client(client.id(), || {
            let fixed = self.site.is_fixed();
            let scope = fixed.then(|| self.scope(None, client));
            OfClient {
                id: client.id(),
                meta: self.meta(None, client).to_string(),
                name: scope.clone().and_then(|scope| scope.finish().ok()),
                scope,
            }
        })
    }

    /// Describes the caller: see [`meta`](crate::store::meta).
    #[inline]
    fn meta(&self, known: Option<&'static OfClient>, client: &Client) -> SharedStr {
        match known {
            Some(known) => SharedStr::Fixed(&known.meta),
            None => client.core().meta(&self.site.location()),
        }
    }

    fn finish(&self, name: NameBuilder) -> Result<Name, LockError> {
        let name = name.finish()?;
        if self.key_failed {
            let reason = "the `Display` of a part of the key failed";
            return Err(LockError::invalid_name(name.as_str(), reason));
        }
        Ok(name)
    }
}

impl Request<MutexGuard> {
    pub fn owner<M, N: KeyPart<M> + ?Sized>(&mut self, owner: &N) {
        let mut name = String::new();
        if !owner.write(&mut name) {
            // Refused as an empty name is.
            name.clear();
        }
        self.given().owner = Some(name.into());
    }
}

impl Request<MultiGuard> {
    pub fn was(&mut self, in_namespace: bool, fixed: &'static str) {
        self.given().was = Some((in_namespace, fixed));
    }

    pub fn was_part<M, P: KeyPart<M> + ?Sized>(&mut self, before: &str, part: &P, after: &str) {
        let text = self.shown(before, part, after);
        self.given().was_parts.push(text);
    }

    pub fn another(&mut self) {
        self.several = true;
        self.keys.push(Vec::new());
    }

    pub fn each<M, N, K>(&mut self, keys: K)
    where
        K: KeyList<M>,
        K::Key: KeyPart<N>,
    {
        self.all(keys.list());
    }

    pub fn each_of<'p, M, N, K>(&mut self, keys: &'p K)
    where
        K: KeyPlace<'p, M> + ?Sized,
        K::Key: KeyPart<N>,
    {
        self.all(keys.list());
    }

    fn all<N, K: KeyPart<N>>(&mut self, keys: impl Iterator<Item = K>) {
        self.several = true;
        for key in keys {
            self.keys.push(Vec::new());
            self.part("", &key, "");
        }
    }

    pub(super) async fn take_all(mut self, blocking: bool) -> Result<MultiGuard, LockError> {
        let caller = Caller::current(blocking);
        let (client, options) = self.resolve(&caller)?;
        if self.keys.is_empty() && !self.several {
            self.keys.push(Vec::new());
        }
        let known = self.known(&client);
        let (scope, meta) = (self.scope(known, &client), self.meta(known, &client));
        let namespace = self.site.namespace_for(client.namespace());
        let mut targets = Vec::new();
        for key in &self.keys {
            let new = self.site.keyed(scope.clone(), key);
            let given = self.given.as_ref();
            let old = given.and_then(|given| given.old_name(namespace, key));
            for name in iter::once(new).chain(old) {
                let name = Cow::Owned(self.finish(name)?);
                client.core().check(&name)?;
                targets.push(AcquireTarget::new(client.clone(), name, meta.clone(), None));
            }
        }
        take::take(caller, targets, &options, None).await
    }
}

impl Request<Leader> {
    pub fn value<M, P: KeyPart<M> + ?Sized>(&mut self, before: &str, part: &P, after: &str) {
        let text = self.shown(before, part, after);
        self.given().leading.value.push_str(&text);
    }

    pub fn again_on_error(&mut self) {
        self.given().leading.again = true;
    }

    pub fn on_overrun(&mut self, overrun: Overrun) {
        self.given().leading.overrun = overrun;
    }

    pub(super) fn seat(&mut self, blocking: bool) -> Result<Seat<'static>, LockError> {
        let (client, mut options) = self.resolve(&Caller::current(blocking))?;
        options.reentry = Reentry::Refused;
        let known = self.known(&client);
        let name = Cow::Owned(self.keyed(known, &client)?);
        client.core().check(&name)?;
        let meta = self.meta(known, &client);
        let leading = mem::take(&mut self.given().leading);
        Seat::new(
            AcquireTarget::new(client, name, meta, None),
            options,
            &leading,
        )
    }
}

impl Request<Permit> {
    pub fn permits(&mut self, permits: u32) {
        self.permits = permits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Async calls copy their request several times. The limit is for 64-bit machines.
    #[test]
    fn a_request_stays_small() {
        assert!(size_of::<Request<MutexGuard>>() <= 72);
    }
}
