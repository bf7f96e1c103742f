//! What happens to a primary, and how it is made good.

use std::time::Duration;

use auto_mutex_tests::events::eventually_within;
use auto_mutex_tests::sentinel::Service;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Killed.
    Kill,
    /// Suspended, until another one has taken its place.
    Suspend,
    /// Cut off from replicas and sentinels, but not from its clients; some of these cannot hear of the new one.
    CutOff,
    /// Replaced by command.
    Command,
}

impl Fault {
    pub(super) const ALL: &'static [Self] =
        &[Self::Kill, Self::Suspend, Self::CutOff, Self::Command];

    /// Makes sure that replicas hear of nothing more; by command, they must hear of all.
    pub(super) fn prepare(self, service: &Service, primary: usize) {
        if self != Self::Command {
            service.watch_closely();
            service.isolate(primary);
        }
    }

    pub(super) fn strike(self, service: &Service, primary: usize) {
        match self {
            Self::Kill => service.server(primary).kill9(),
            Self::Suspend => service.server(primary).stop(),
            Self::CutOff => {}
            Self::Command => service.begin_failover(),
        }
    }

    /// The former primary comes back, and is a replica in the end.
    pub(super) fn repair(self, service: &Service, former: usize) {
        match self {
            Self::Kill => {
                service.reconnect(former);
                service.server(former).start_again();
                // (A proxy has announced it; that is not in its file.)
                let port = service.port(former).to_string();
                let announced = ["CONFIG", "SET", "replica-announce-port", &port];
                service.server(former).command(&announced);
            }
            Self::Suspend => {
                service.reconnect(former);
                service.server(former).cont();
            }
            Self::CutOff => service.reconnect(former),
            Self::Command => {}
        }
        service.leave_alone();
        let limit = Duration::from_secs(60);
        eventually_within(limit, "the former primary is a replica", || {
            !service.server(former).is_primary()
        });
    }
}
