//! [`Endpoint`]: the address of a World's store, for one host. Makes the clients whose background is a task.

use std::sync::{Arc, Weak};

use auto_mutex_core::hook::ClientCore;
use auto_mutex_core::store::{
    Driver, Engine, Layout, MemberId, RandomId, Reader, StoreOptions, Unconnected, lock, parse,
    same_kind,
};
use auto_mutex_core::{Settings, hook};

use super::gate;
use super::member::{Line, Member};
use super::world::Shared;

/// A host's way to the store of a World. The World behaves as a service with a primary and a replica.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) world: Weak<Shared>,
}

impl Endpoint {
    fn member(&self, options: &StoreOptions, id: MemberId) -> Arc<Member> {
        Member::new(self.world.clone(), &self.host, id, *options)
    }
}

impl Engine for Endpoint {
    fn scheme(&self) -> &'static str {
        "world"
    }

    fn layout(&self) -> Layout {
        Layout::Failover
    }

    fn servers(&self) -> String {
        "world".to_owned()
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|other| self.world.ptr_eq(&other.world))
    }

    fn unconnected(&self, options: &StoreOptions, member: MemberId) -> Unconnected {
        let member = self.member(options, member);
        (member.clone(), Box::new(Line(member)))
    }

    /// A World has no server for an operator, who sees an empty store: it is asked directly.
    fn reader(&self, options: &StoreOptions) -> Box<dyn Reader> {
        let nothing = parse("memory://").expect("a URL");
        nothing.reader(options)
    }
}

/// Makes a client of a World on the runtime of this thread; `None` if the store of `settings` is none that lives in a
/// World.
pub(super) fn start(settings: &Settings) -> Option<Arc<ClientCore>> {
    let engine = &*settings.engine;
    let id = MemberId::random();
    if let Some(endpoint) = same_kind::<Endpoint>(engine) {
        let member = endpoint.member(&settings.options, id);
        let mut settings = settings.clone();
        if let Some(world) = endpoint.world.upgrade() {
            let mut members = lock(&world.members);
            members.push(member.clone());
            settings.process = Some((endpoint.host.clone(), members.len() as u32));
        }
        let core = ClientCore::new(settings, member.clone(), id);
        member.begin(&core);
        let driver = Box::new(Line(member.clone())).run(core.clone());
        let (driver, tick) = hook::tasks(member.clone(), driver, core.clone());
        // A subscriber or an observer of the test may panic there.
        drop((gate::spawn(&member, driver), gate::spawn(&member, tick)));
        return Some(core);
    }
    if engine.layout() != Layout::InProcess || !Shared::is_here() {
        return None;
    }
    let (store, driver) = engine.unconnected(&settings.options, id);
    let core = ClientCore::new(settings.clone(), store.clone(), id);
    let driver = driver.run(core.clone());
    let (driver, tick) = hook::tasks(store, driver, core.clone());
    drop((tokio::spawn(driver), tokio::spawn(tick)));
    Some(core)
}
