//! [`Connector`]: opens connections, from the first byte to the confirmed subscription. A [`Session`] is one of them.

use std::collections::VecDeque;
use std::env;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use auto_mutex_core::store::{
    Address, ConnectError, MemberId, Secret, StoreOptions, Trouble, lock, random_number,
};
use auto_mutex_core::{Guarantees, SetupError, StoreError};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::types::Type;
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, SimpleQueryMessage, SimpleQueryRow, Statement,
};

use crate::call::{Call, Function, Value};
use crate::engine::{Hears, Postgres};
use crate::facts::{Facts, check_product};
use crate::message::channel;
use crate::schema::{self, Found};
use crate::socket::{self, Agreed, Channel};
use crate::term::Term;
use crate::{error, pass_file, reply};

/// How long a server may be silent at first. If that was too short, later attempts wait longer.
pub(crate) const USUAL_SILENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);
/// How many answers a set-up may wait for.
const STEPS: u32 = 4;
/// What the functions rely on, whatever the defaults of the user are. A frozen process must not stop the whole connection.
const SETTINGS: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; \
    SET lock_timeout = '1s'; SET idle_session_timeout = 0; SET jit = off";
const POOLER: &str = "a pooler is in front of it, which passes no notifications on: connect to the server itself, or name that \
    by `listen_url=` besides, or let the client ask by itself with `poll=200ms`";
const ELSEWHERE: &str = "`listen_url` leads to another server or database than the rest of the URL";
/// The number of a member, which its connection locks while it listens: a hint for `auto_mutex.publish`.
const PRESENCE: &str = "SELECT pg_try_advisory_lock(hashtextextended($1::text::uuid::text, 7272))";
/// Ends the process of an earlier connection of this member, which the server takes for alive.
const PREDECESSOR: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks, hashtextextended($1::text::uuid::text, 7272) AS number \
    WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ExclusiveLock' AND granted AND pid <> pg_backend_pid() \
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND (classid::bigint << 32 | objid::bigint) = number";
const TURNS: u32 = 20;

pub(crate) struct Connector {
    pub(crate) postgres: Postgres,
    pub(crate) member: MemberId,
    pub(crate) options: StoreOptions,
    /// For an operator, who changes nothing.
    reads: bool,
    facts: Mutex<Option<Facts>>,
    /// The server of the last connection.
    server: Mutex<Option<Address>>,
}

/// A connection that is ready for requests.
pub(crate) struct Ready {
    pub(crate) requests: Session,
    /// If the messages come on another connection.
    pub(crate) listener: Option<Session>,
    pub(crate) term: Term,
    pub(crate) facts: Facts,
}

pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) connection: Connection<Channel, Channel>,
    /// Payloads of notifications that arrived during the set-up.
    pub(crate) told: VecDeque<String>,
    pub(crate) address: Address,
    pid: i32,
}

/// The queries of a session.
pub(crate) struct Queries {
    texts: Vec<String>,
    prepared: Vec<Option<Statement>>,
    /// The term in which requests run, behind a pooler.
    term: Option<String>,
}

impl Connector {
    pub(crate) fn new(postgres: Postgres, options: &StoreOptions, member: MemberId) -> Self {
        Self {
            postgres,
            member,
            options: *options,
            reads: false,
            facts: Mutex::default(),
            server: Mutex::default(),
        }
    }

    pub(crate) fn reading(postgres: Postgres, options: &StoreOptions) -> Self {
        Self {
            reads: true,
            ..Self::new(postgres, options, MemberId::random())
        }
    }

    /// The server of the last connection; before the first, all of the URL.
    pub(crate) fn address_text(&self) -> String {
        let server = lock(&self.server);
        let server = server.as_ref().map(Address::to_string);
        server.unwrap_or_else(|| self.postgres.listed())
    }

    pub(crate) fn guarantees(&self) -> Guarantees {
        let facts = lock(&self.facts);
        let facts = facts.as_ref();
        facts.map_or_else(Guarantees::unknown, |it| it.guarantees(&self.options))
    }

    pub(crate) fn is_pooled(&self) -> bool {
        self.postgres.hears != Hears::Directly
    }

    /// The pause after which the client asks for messages, if it does not listen.
    pub(crate) fn poll(&self) -> Option<Duration> {
        match self.postgres.hears {
            Hears::Asking(pause) => Some(pause),
            _ => None,
        }
    }

    pub(crate) async fn first(&self, left: Duration) -> Result<Ready, SetupError> {
        let end = Instant::now() + left.min(Duration::from_secs(86_400));
        let mut passing = None;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let silence = match self.postgres.servers.len() {
                1 => left,
                _ => USUAL_SILENCE.min(left),
            };
            let attempt = timeout_at(end, Box::pin(self.open(silence))).await;
            let failed = match attempt {
                Ok(Ok(ready)) => return Ok(ready),
                Ok(Err(error)) => error,
                Err(_) => passing.take().unwrap_or_else(|| self.too_late()),
            };
            if !self.passes(&failed) || Instant::now() + PAUSE >= end {
                return Err(failed.at(&self.postgres.listed()));
            }
            passing = Some(failed);
            sleep(PAUSE).await;
        }
    }

    pub(crate) async fn attempt(&self, silence: Duration) -> Result<Ready, ConnectError> {
        let whole = self.options.connect_timeout.max(silence * 2);
        let opened = timeout(whole, Box::pin(self.open(silence.min(whole)))).await;
        opened.unwrap_or_else(|_| Err(self.too_late()))
    }

    /// Whether another attempt within the set-up makes sense: the server starts, or a standby is about to take over.
    fn passes(&self, error: &ConnectError) -> bool {
        match error.trouble() {
            Trouble::Busy => error.of_provider().is_none(),
            Trouble::Unreachable | Trouble::Silent => self.postgres.servers.len() > 1,
            Trouble::Refused => false,
        }
    }

    fn too_late(&self) -> ConnectError {
        let limit = self.options.connect_timeout;
        let text =
            format!("not connected within {limit:?}: the server is silent, or the link is slow");
        ConnectError::Unreachable(Trouble::Silent, StoreError::disconnected(text))
    }

    /// Connects to the server of the URL that takes writes.
    async fn open(&self, silence: Duration) -> Result<Ready, ConnectError> {
        let mut failed: Option<ConnectError> = None;
        for server in ordered(&self.postgres) {
            let error = match self.open_at(server, silence).await {
                Ok(ready) => {
                    *lock(&self.facts) = Some(ready.facts.clone());
                    *lock(&self.server) = Some(ready.requests.address.clone());
                    return Ok(ready);
                }
                Err(error) => error,
            };
            // That one server is a standby says less than why another cannot be used.
            let tells_less = matches!(error, ConnectError::Role(_)) && failed.is_some();
            if !tells_less {
                failed = Some(ConnectError::At(server.to_string(), Box::new(error)));
            }
        }
        Err(failed.unwrap_or_else(|| self.too_late()))
    }

    async fn open_at(&self, server: &Address, silence: Duration) -> Result<Ready, ConnectError> {
        let mut requests = self.session(&self.postgres, server, silence).await?;
        let is_pooled = self.is_pooled();
        let setting_up = async {
            let facts = self.checked(&mut requests, is_pooled).await?;
            let client = requests.client.clone();
            let reads = self.reads;
            if reads && facts.schema == Found::Missing {
                // No client has ever used locks there, so there is nothing to see.
                return Ok((facts, Term::default()));
            }
            let ensured = schema::ensure(&client, facts.schema, reads);
            requests.run(ensured).await?;
            if !is_pooled && !reads {
                self.listen(&mut requests).await?;
            }
            let longest = match reads {
                true => Duration::ZERO,
                false => self.options.longest_lease,
            };
            let asked = async {
                Term::ask(&client, longest)
                    .await
                    .map_err(|it| error::refused(&it))
            };
            let term = requests.run(asked).await?;
            Ok((facts, term))
        };
        let set_up = timeout(silence.saturating_mul(STEPS), setting_up).await;
        let (facts, term) = set_up.unwrap_or_else(|_| Err(silent()))?;
        let listener = match self.postgres.listener().filter(|_| !self.reads) {
            None => None,
            Some(postgres) => Some(self.listener(postgres, &facts, silence).await?),
        };
        Ok(Ready {
            requests,
            listener,
            term,
            facts,
        })
    }

    async fn listener(
        &self,
        postgres: &Postgres,
        facts: &Facts,
        silence: Duration,
    ) -> Result<Session, ConnectError> {
        let mut failed = self.too_late();
        for server in ordered(postgres) {
            let opening = async {
                let mut session = self.session(postgres, server, silence).await?;
                let found = self.checked(&mut session, false).await?;
                if found.place != facts.place {
                    let found = "the two connections end at different places".to_owned();
                    return Err(schema::unsuitable(ELSEWHERE, found));
                }
                self.listen(&mut session).await?;
                Ok(session)
            };
            let opened = timeout(silence.saturating_mul(STEPS), opening).await;
            match opened.unwrap_or_else(|_| Err(silent())) {
                Ok(session) => return Ok(session),
                Err(error) => failed = ConnectError::At(server.to_string(), Box::new(error)),
            }
        }
        Err(failed)
    }

    async fn session(
        &self,
        postgres: &Postgres,
        server: &Address,
        silence: Duration,
    ) -> Result<Session, ConnectError> {
        let config = self.config(postgres, server).await?;
        let connecting = async {
            let channel = socket::open(postgres, server).await;
            let channel = channel.map_err(|error| error::of_io(&error))?;
            let mut config = config;
            config.ssl_mode(SslMode::Disable);
            if channel.is_secure() {
                config.ssl_mode(SslMode::Require);
                config.ssl_negotiation(SslNegotiation::Direct);
            }
            let pid = channel.pid();
            let connected = config.connect_raw(channel, Agreed).await;
            let (client, connection) = connected.map_err(|error| error::refused(&error))?;
            Ok(Session {
                client: Arc::new(client),
                connection,
                told: VecDeque::new(),
                address: server.clone(),
                pid: pid.load(Ordering::Relaxed),
            })
        };
        let connected = timeout(silence, connecting).await;
        connected.unwrap_or_else(|_| Err(silent()))
    }

    async fn config(&self, postgres: &Postgres, server: &Address) -> Result<Config, ConnectError> {
        let mut config = Config::new();
        let (mut user, mut password) = (postgres.user.clone(), postgres.password.clone());
        if let Some(source) = &postgres.source {
            let asked = source.ask(server, self.options.connect_timeout).await;
            let granted = asked.map_err(ConnectError::Credentials)?;
            (user, password) = (granted.user.or(user), granted.password);
        }
        let of_system = || Some(Secret::new(env::var("PGUSER").or(env::var("USER")).ok()?));
        if let Some(user) = user.or_else(of_system) {
            let known = password.or_else(|| pass_file::password(postgres, server, user.expose()));
            config.user(user.expose());
            if let Some(password) = known {
                config.password(password.expose());
            }
        }
        if let Some(database) = &postgres.database {
            config.dbname(database.expose());
        }
        if let Some(options) = &postgres.options {
            config.options(options.expose());
        }
        let name = match (&postgres.application, self.reads) {
            (Some(name), _) => name.clone(),
            (None, true) => "auto_mutex:operator".to_owned(),
            (None, false) => channel(self.member),
        };
        config.application_name(name);
        config.channel_binding(postgres.tls.binding);
        Ok(config)
    }

    /// Checks that the server can serve locks on this connection.
    async fn checked(&self, session: &mut Session, is_pooled: bool) -> Result<Facts, ConnectError> {
        let client = session.client.clone();
        let asked = async {
            let version = first_row(&client, "SELECT version()").await?;
            let version = version.get(0).unwrap_or_default().to_owned();
            check_product(&version)?;
            let row = first_row(&client, &Facts::question()).await?;
            let facts = Facts::read(version, &row)?;
            facts.check(is_pooled)?;
            Ok(facts)
        };
        let facts = session.run(asked).await?;
        if !is_pooled && !self.reads && facts.pid != session.pid {
            let (said, is) = (session.pid, facts.pid);
            let found =
                format!("the connection is that of process {said}, and process {is} answers");
            return Err(schema::unsuitable(POOLER, found));
        }
        Ok(facts)
    }

    /// Subscribes to the member's channel.
    async fn listen(&self, session: &mut Session) -> Result<(), ConnectError> {
        let client = session.client.clone();
        let failed = |error: Error| error::refused(&error);
        let member = self.member.to_string();
        let text = format!("{SETTINGS}; LISTEN \"{}\"", channel(self.member));
        let listening = async {
            client.batch_execute(&text).await.map_err(failed)?;
            for _ in 0..TURNS {
                let parameter = [(&member as _, Type::TEXT)];
                let row = client.query_typed_one(PRESENCE, &parameter).await;
                if row.and_then(|row| row.try_get(0)).map_err(failed)? {
                    return Ok(());
                }
                // It may be of another user, and ends by itself once the server has noticed.
                let _ = client.query_typed(PREDECESSOR, &parameter).await;
                sleep(PAUSE).await;
            }
            let text = "an earlier connection of this client is still there";
            let error = StoreError::disconnected(text);
            Err(ConnectError::Unreachable(Trouble::Busy, error))
        };
        session.run(listening).await
    }
}

fn ordered(postgres: &Postgres) -> impl Iterator<Item = &Address> {
    let servers = &postgres.servers;
    let first = match postgres.is_shuffled {
        true => random_number() as usize % servers.len(),
        false => 0,
    };
    servers.iter().cycle().skip(first).take(servers.len())
}

fn silent() -> ConnectError {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "the server does not answer").into()
}

pub(crate) async fn first_row(
    client: &Client,
    query: &str,
) -> Result<SimpleQueryRow, ConnectError> {
    let asked = client.simple_query(query).await;
    let rows = asked.map_err(|error| error::refused(&error))?;
    let mut rows = rows.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let nothing = || ConnectError::Unreachable(Trouble::Unreachable, reply::nonsense());
    rows.next().ok_or_else(nothing)
}

impl Session {
    /// Runs `work` on the connection, which must use its client.
    pub(crate) async fn run<T>(
        &mut self,
        work: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(done) = work.as_mut().poll(cx) {
                    return Poll::Ready(done);
                }
                match self.connection.poll_message(cx) {
                    Poll::Ready(Some(Ok(AsyncMessage::Notification(message)))) => {
                        self.told.push_back(message.payload().to_owned());
                    }
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(Some(Err(error))) => {
                        return Poll::Ready(Err(error::refused(&error)));
                    }
                    Poll::Ready(None) => {
                        let text = "the server closed the connection";
                        return Poll::Ready(Err(ConnectError::unreachable(text)));
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }
}

impl Queries {
    /// Prepares the frequent ones, unless a pooler may pass each request to another process.
    pub(crate) async fn of(
        session: &mut Session,
        term: Option<&Term>,
    ) -> Result<Self, ConnectError> {
        let texts = Function::ALL.map(|function| match term {
            Some(_) => function.query_in_term(),
            None => function.query(),
        });
        let client = session.client.clone();
        let mut prepared = Vec::new();
        for function in Function::ALL {
            let statement = match term.is_none() && function.is_frequent() {
                true => {
                    let preparing = async {
                        let prepared = client.prepare(&texts[function as usize]).await;
                        prepared.map_err(|error| error::refused(&error))
                    };
                    Some(session.run(preparing).await?)
                }
                false => None,
            };
            prepared.push(statement);
        }
        Ok(Self {
            texts: texts.into(),
            prepared,
            term: term.map(|term| term.id.clone()),
        })
    }

    /// Runs a call. The request is sent when the future is polled first.
    pub(crate) fn run(
        &self,
        client: &Arc<Client>,
        mut call: Call,
    ) -> impl Future<Output = Result<Vec<tokio_postgres::Row>, Error>> + Send + 'static {
        let client = client.clone();
        let index = call.function as usize;
        let statement = self.prepared[index].clone();
        let text = match statement {
            None => self.texts[index].clone(),
            Some(_) => String::new(),
        };
        if let Some(term) = self
            .term
            .as_ref()
            .filter(|_| call.function != Function::Inspect)
        {
            call.values.push(Value::Text(term.clone().into()));
        }
        async move {
            match &statement {
                Some(statement) => client.query(statement, &call.plain()).await,
                None => client.query_typed(&text, &call.typed()).await,
            }
        }
    }
}
