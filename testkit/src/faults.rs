//! The faults of a [`World`].

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{Name, NameRecord, Op, SharedStr, TicketRecord, lock};
use auto_mutex_core::{Client, StoreError};

use super::fault::{Fault, Operation};
use super::member::Member;
use super::{StoreErrorKind, World};

/// For how long an old primary may accept requests after a failover.
const GOES_ON: Duration = Duration::from_secs(12);

/// A fault has happened. Await this to let everyone notice it.
#[derive(Debug)]
pub struct Struck(pub(super) World);

/// Which holds a fault is about: those of a client, or those of a lock.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a>(Of<'a>);

#[derive(Clone, Copy, Debug)]
enum Of<'a> {
    Client(&'a Client),
    /// The complete name.
    Lock(&'a str),
}

impl<'a> From<&'a Client> for Target<'a> {
    fn from(client: &'a Client) -> Self {
        Self(Of::Client(client))
    }
}

impl<'a> From<&'a str> for Target<'a> {
    fn from(name: &'a str) -> Self {
        Self(Of::Lock(name))
    }
}

type Strike = fn(&World, &Client) -> Struck;

impl World {
    pub(super) fn member(&self, client: &Client) -> Arc<Member> {
        let members = self.0.all_members().into_iter();
        let mut members = members.filter(|member| member.is_client(client.id()));
        members.next().expect("a client of this World")
    }

    /// Does something to all clients on the host of `client`.
    fn on_host(&self, client: &Client, fault: Option<Fault>, act: impl Fn(&Member)) -> Struck {
        let host = &self.member(client).host;
        if let Some(fault) = fault {
            self.0.struck(host, "", fault);
        }
        let members = self.0.all_members();
        let here = members.iter().filter(|member| member.host == *host);
        here.for_each(|member| act(member));
        self.struck()
    }

    pub(super) fn struck(&self) -> Struck {
        Struck(self.clone())
    }

    /// The holders in the store.
    fn holders(&self, target: Target<'_>, fault: Fault) -> Vec<(Name, TicketRecord)> {
        let (host, id, name) = match target.0 {
            Of::Client(client) => {
                let member = self.member(client);
                (member.host.clone(), Some(member.id), "")
            }
            Of::Lock(name) => (String::new(), None, name),
        };
        self.0.struck(&host, name, fault);
        let records = lock(&self.0.server).records().into_iter();
        let of = |(name, record): (Name, NameRecord)| {
            let holders = record.holders.into_iter();
            holders.map(move |holder| (name.clone(), holder))
        };
        let mut holders: Vec<_> = records.flat_map(of).collect();
        holders.retain(|(held, holder)| match id {
            Some(id) => holder.member == id,
            None => held.as_str() == name,
        });
        let mut record = lock(&self.0.record);
        record
            .taken
            .extend(holders.iter().map(|(_, holder)| holder.ticket));
        holders
    }

    fn as_operator(&self, name: &Name, op: &Op) {
        let operator = self.member(&self.elsewhere());
        self.0.execute(&operator, name, op);
    }

    /// Drops the holds from the store without a word, and gives them to whoever waits.
    fn drop_holds(&self, holders: &[(Name, TicketRecord)]) {
        for (name, holder) in holders {
            let release = Op::Release {
                ticket: holder.ticket,
                park: Duration::ZERO,
                tomb: false,
                used: holder.token,
            };
            self.as_operator(name, &release);
        }
    }

    /// The store forgets the locks of a client or the holders of a name, as after a deletion or an eviction. Nobody is
    /// told: the client finds out when it renews the lease
    /// ([`LossCause::Forgotten`](auto_mutex_core::LossCause::Forgotten)).
    pub fn lose<'a>(&self, target: impl Into<Target<'a>>) -> Struck {
        let holders = self.holders(target.into(), Fault::Lose);
        self.drop_holds(&holders);
        self.struck()
    }

    /// Ends the leases of a client or of a name, as if they had not been renewed in time
    /// ([`LossCause::NotRenewed`](auto_mutex_core::LossCause::NotRenewed)).
    pub fn expire_lease<'a>(&self, target: impl Into<Target<'a>>) -> Struck {
        let holders = self.holders(target.into(), Fault::ExpireLease);
        self.drop_holds(&holders);
        for (name, holder) in &holders {
            let member = self.0.member(holder.member);
            if let Some(core) = member.and_then(|member| member.core()) {
                core.end_lease(name, holder.ticket);
            }
        }
        self.struck()
    }

    /// Breaks the locks of a client or of a name, as an operator does
    /// ([`LossCause::Forced`](auto_mutex_core::LossCause::Forced)).
    pub fn force_unlock<'a>(&self, target: impl Into<Target<'a>>) -> Struck {
        for (name, holder) in self.holders(target.into(), Fault::ForceUnlock) {
            let by = SharedStr::from("elsewhere 1 operator");
            let kick = Op::Kick {
                token: holder.token,
                by,
            };
            self.as_operator(&name, &kick);
        }
        self.struck()
    }

    /// The store answers the next request of this kind, whoever sends it, with an error. Of
    /// [`StoreErrorKind`], `Disconnected` breaks the connection; whether the request is executed
    /// then is left to chance.
    pub fn fail_next(&self, operation: Operation, error: impl Into<StoreError>) -> Struck {
        self.0.struck("", "", Fault::FailNext);
        self.0.fail_next(operation, error.into());
        self.struck()
    }

    /// Cuts the host of `client` off from the store. What was under way is lost, or arrives late.
    pub fn disconnect(&self, client: &Client) -> Struck {
        self.on_host(client, Some(Fault::Disconnect), |member| member.cut(true))
    }

    /// Ends [`disconnect`](Self::disconnect).
    pub fn reconnect(&self, client: &Client) -> Struck {
        self.on_host(client, None, |member| member.cut(false))
    }

    /// From now on, each request, reply and message of every host takes `time` on its way.
    pub fn delay(&self, time: Duration) -> Struck {
        self.0.struck("", "", Fault::Delay);
        self.0.set_delay(time);
        self.struck()
    }

    /// Stops the processes on the host of `client`, as SIGSTOP does. Their clocks go on.
    pub fn suspend(&self, client: &Client) -> Struck {
        self.on_host(client, Some(Fault::Suspend), Member::suspend)
    }

    /// Ends [`suspend`](Self::suspend).
    pub fn resume(&self, client: &Client) -> Struck {
        self.on_host(client, None, Member::resume)
    }

    /// Kills the processes on the host of `client`, as SIGKILL does: what runs there ends without a trace, and nothing
    /// is released. Make a new client of the same host to start it again.
    pub fn kill(&self, client: &Client) -> Struck {
        self.on_host(client, Some(Fault::Kill), Member::kill)
    }

    /// Makes `client` what a forked child inherits: all its calls fail with
    /// [`LockError::Forked`](auto_mutex_core::LockError::Forked).
    pub fn fork(&self, client: &Client) -> Struck {
        self.0.struck(&self.member(client).host, "", Fault::Fork);
        client.core().fork();
        self.struck()
    }

    /// Kills the store, as the system does when memory runs out. It stays away until
    /// [`restart_empty`](Self::restart_empty) or [`failover`](Self::failover).
    pub fn oom_crash(&self) -> Struck {
        self.0.struck("", "", Fault::OomCrash);
        lock(&self.0.server).crash();
        self.look()
    }

    /// Restarts the store without its data. It grants nothing until all leases of before have ended.
    pub fn restart_empty(&self) -> Struck {
        self.0.struck("", "", Fault::RestartEmpty);
        let pause = self.pause(|member| member.options.restart_guard);
        lock(&self.0.server).restart_empty(pause);
        self.look()
    }

    /// A replica takes over that is up to 100 ms behind. It grants nothing until all leases of before have ended.
    pub fn failover(&self) -> Struck {
        self.failover_losing(Duration::from_millis(100))
    }

    /// Like [`failover`](Self::failover), to a replica that is up to `time` behind, at most ten seconds.
    pub fn failover_losing(&self, time: Duration) -> Struck {
        self.0.struck("", "", Fault::Failover);
        let lag = Duration::from_millis(self.0.below(time.as_millis() as u64 + 1));
        let pause = self.pause(|member| !member.options.trust_failover);
        lock(&self.0.server).fail_over(lag, pause);
        self.look()
    }

    /// How long the store has to wait until all leases of before have ended, if any client guards against that.
    fn pause(&self, guards: impl Fn(&Member) -> bool) -> Option<Duration> {
        let members = self.0.all_members();
        let guards = members.iter().any(|member| guards(member));
        let leases = members.iter().map(|member| member.options.longest_lease);
        leases.max().filter(|_| guards).map(|lease| lease + GOES_ON)
    }

    fn look(&self) -> Struck {
        self.0.all_members().iter().for_each(|member| member.look());
        self.struck()
    }

    /// Steps the store's clock forward.
    pub fn clock_step(&self, time: Duration) -> Struck {
        self.step_clock(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
    }

    /// Steps the store's clock back.
    pub fn clock_step_back(&self, time: Duration) -> Struck {
        self.step_clock(i64::try_from(time.as_micros()).map_or(i64::MIN, |time| -time))
    }

    fn step_clock(&self, micros: i64) -> Struck {
        self.0.struck("", "", Fault::ClockStep);
        lock(&self.0.server).step_clock(micros);
        self.struck()
    }

    /// Causes a fault that the seed chooses: of the store, of the network, or of the host of `client`. A fault that
    /// lasts ends after a time that the seed chooses, up to ten seconds. After [`Fault::Kill`] and [`Fault::Fork`],
    /// `client` is of no use any more.
    pub fn random_fault(&self, client: &Client) -> Fault {
        let faults: [(Fault, Strike); 14] = [
            (Fault::Disconnect, Self::disconnect),
            (Fault::Suspend, Self::suspend),
            (Fault::Lose, |world, client| world.lose(client)),
            (Fault::ExpireLease, |world, client| {
                world.expire_lease(client)
            }),
            (Fault::ForceUnlock, |world, client| {
                world.force_unlock(client)
            }),
            (Fault::OomCrash, |world, _| world.oom_crash()),
            (Fault::RestartEmpty, |world, _| world.restart_empty()),
            (Fault::Failover, |world, _| world.failover()),
            (Fault::Kill, Self::kill),
            (Fault::Forge, |world, _| world.forge()),
            (Fault::FailNext, |world, _| {
                world.fail_next(Operation::Any, StoreErrorKind::Busy)
            }),
            (Fault::Delay, |world, _| {
                world.delay(Duration::from_millis(world.0.below(2000)))
            }),
            (Fault::Fork, Self::fork),
            // Stepped forward, a clock may end leases that still run.
            (Fault::ClockStep, |world, _| {
                world.clock_step_back(Duration::from_millis(world.0.below(10_000)))
            }),
        ];
        let (fault, strike) = faults[self.0.below(faults.len() as u64) as usize];
        strike(self, client);
        let time = Duration::from_millis(self.0.below(10_000));
        let (world, client) = (self.clone(), client.clone());
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            match fault {
                Fault::Disconnect => drop(world.reconnect(&client)),
                Fault::Suspend => drop(world.resume(&client)),
                Fault::OomCrash => drop(world.restart_empty()),
                Fault::Delay => drop(world.delay(Duration::ZERO)),
                _ => {}
            }
        });
        fault
    }
}
