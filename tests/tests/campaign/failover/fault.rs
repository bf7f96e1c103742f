//! The faults of a primary, and their repair.

use std::time::Duration;

use auto_mutex_tests::events::eventually_within;
use auto_mutex_tests::sentinel::Service;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The primary is killed.
    Kill,
    /// The primary is suspended until another server has taken its place.
    Suspend,
    /// The primary is cut off from its replicas and the sentinels, but not from its clients, some of which cannot learn
    /// of the new primary.
    CutOff,
    /// The primary is replaced by command.
    Command,
}

impl Fault {
    pub(super) const ALL: &'static [Self] =
        &[Self::Kill, Self::Suspend, Self::CutOff, Self::Command];

    /// Cuts the primary off, so that the replicas receive nothing more. For a failover by command, they must receive
    /// everything.
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

    /// Brings the former primary back, and waits until it is a replica.
    pub(super) fn repair(self, service: &Service, former: usize) {
        match self {
            Self::Kill => {
                service.reconnect(former);
                service.server(former).start_again();
                // The port of the proxy is not in the server's configuration file.
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
