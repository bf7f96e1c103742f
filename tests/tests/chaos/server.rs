//! The server that the workers use.

use auto_mutex_tests::postgres::{Pooler, Postgres, url_at};
use auto_mutex_tests::redis::Redis;

use crate::needs::Needs;

pub(crate) enum Server {
    Redis(Redis),
    Postgres(Database),
}

/// How PostgreSQL is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One server.
    Plain,
    /// One server, whose files are on a disk that can be filled.
    SmallDisk,
    /// A primary and a standby. The workers know both.
    Standby,
    /// A pooler before a server. The workers do not listen.
    Asking,
}

/// PostgreSQL in one of these layouts.
pub(crate) struct Database {
    pub(crate) primary: Postgres,
    pub(crate) standby: Option<Postgres>,
    pub(crate) pooler: Option<Pooler>,
    /// Which of the two groups of proxies leads to the primary.
    pub(crate) side: usize,
    layout: Layout,
}

impl Server {
    pub(crate) fn start(needs: &Needs) -> Self {
        match needs.postgres {
            Some(layout) => Self::Postgres(Database::start(layout)),
            None => Self::Redis(Redis::with(match &needs.clock {
                Some(clock) => needs.server.clone().clock(clock),
                None => needs.server.clone(),
            })),
        }
    }

    /// The ports to which workers connect.
    pub(crate) fn ports(&self) -> Vec<u16> {
        match self {
            Self::Redis(redis) => vec![redis.port()],
            Self::Postgres(it) => match &it.pooler {
                Some(pooler) => vec![pooler.port()],
                None => [&it.primary]
                    .into_iter()
                    .chain(&it.standby)
                    .map(Postgres::port)
                    .collect(),
            },
        }
    }

    /// The URL for a worker that connects to these ports in place of the server's.
    pub(crate) fn url_at(&self, ports: &[u16]) -> String {
        match self {
            Self::Redis(redis) => redis.url_at(ports[0]),
            Self::Postgres(it) => match it.layout {
                Layout::Plain | Layout::SmallDisk | Layout::Standby => url_at(ports),
                Layout::Asking => format!("{}&poll=50ms", url_at(ports)),
            },
        }
    }

    /// The URL for a client that no fault of the links strikes.
    pub(crate) fn url(&self) -> String {
        self.url_at(&self.ports())
    }

    pub(crate) fn members(&self) -> usize {
        match self {
            Self::Redis(redis) => redis.members(),
            Self::Postgres(it) => it.primary.members(),
        }
    }

    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Redis(redis) => redis.held(),
            Self::Postgres(it) => it.primary.held(),
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        match self {
            Self::Redis(redis) => redis.waiting(),
            Self::Postgres(it) => it.primary.waiting(),
        }
    }
}

impl Database {
    fn start(layout: Layout) -> Self {
        let primary = match layout {
            Layout::SmallDisk => Postgres::on_small_disk(),
            _ => Postgres::start(),
        };
        let primary = primary.expect("it can be started: `needs` has said so");
        let has_pooler = layout == Layout::Asking;
        Self {
            standby: (layout == Layout::Standby).then(|| primary.standby()),
            pooler: has_pooler.then(|| Pooler::before(&primary).expect("as the primary")),
            primary,
            side: 0,
            layout,
        }
    }
}
