//! The server of the URL that `setup` returns: how to reach it, and what to ask it.

use std::collections::BTreeMap;
use std::io;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::error::ProveError;

/// The rows of each table, sorted.
pub(super) type Contents = BTreeMap<String, Vec<String>>;

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// `postgres://user:password@host:port/database?parameters`, taken apart.
pub(super) struct Url {
    /// With the `@`.
    user: String,
    host: String,
    port: u16,
    database: String,
    parameters: Vec<String>,
}

impl FromStr for Url {
    type Err = ProveError;

    fn from_str(url: &str) -> Result<Self, ProveError> {
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or(ProveError::Url)?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (address, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, address) = address.split_at(address.rfind('@').map_or(0, |at| at + 1));
        let mut parameters: Vec<_> = parameters
            .split('&')
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect();
        let mut taken = |name: &str| {
            let at = parameters
                .iter()
                .position(|it| it.split_once('=').is_some_and(|(key, _)| key == name))?;
            Some(parameters.remove(at).split_off(name.len() + 1))
        };
        taken("sslmode");
        let (of_host, of_port) = (taken("host"), taken("port"));
        let port_at = address
            .rfind(':')
            .filter(|at| !address[*at..].contains(']'));
        let (host, port) = address.split_at(port_at.unwrap_or(address.len()));
        let host = of_host
            .as_deref()
            .unwrap_or(if host.is_empty() { "localhost" } else { host });
        let host = percent_decode_str(host).decode_utf8_lossy();
        let port = of_port
            .as_deref()
            .or(port.strip_prefix(':'))
            .unwrap_or("5432");
        Ok(Self {
            user: user.to_owned(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port: port.parse().map_err(|_| ProveError::Url)?,
            database: database.to_owned(),
            parameters,
        })
    }
}

impl Url {
    /// The same by way of a port of this machine.
    pub(super) fn through(&self, port: u16) -> String {
        let Self {
            user,
            database,
            parameters,
            ..
        } = self;
        let parameters: String = parameters.iter().map(|it| format!("&{it}")).collect();
        format!("postgres://{user}127.0.0.1:{port}/{database}?sslmode=disable{parameters}")
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        #[cfg(unix)]
        if self.host.starts_with('/') {
            let path = format!("{}/.s.PGSQL.{}", self.host, self.port);
            return Ok(Box::new(tokio::net::UnixStream::connect(path).await?));
        }
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// A connection that watches the others.
pub(super) struct Observer(Client);

impl Observer {
    pub(super) async fn connect(url: &Url) -> Result<Self, ProveError> {
        let options = url.parameters.iter().find(|it| it.starts_with("options="));
        let options = options.map(String::as_str).unwrap_or_default();
        let config: Config = format!(
            "postgres://{}localhost/{}?{options}",
            url.user, url.database
        )
        .parse()?;
        let (client, connection) = config.connect_raw(url.connect().await?, NoTls).await?;
        tokio::spawn(connection);
        Ok(Self(client))
    }

    async fn ask(&self, question: &str) -> Result<Vec<Vec<String>>, ProveError> {
        let messages = self.0.simple_query(question).await?.into_iter();
        let rows = messages.filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(
                (0..row.len())
                    .map(|at| row.get(at).unwrap_or_default().to_owned())
                    .collect(),
            ),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Which of the processes wait for a lock of another of them.
    pub(super) async fn blocked(&self, processes: &[i32]) -> Result<Vec<i32>, ProveError> {
        let blocked = format!(
            "SELECT p FROM unnest(ARRAY{processes:?}) p \
             WHERE pg_blocking_pids(p) || pg_safe_snapshot_blocking_pids(p) && ARRAY{processes:?}"
        );
        let rows = self.ask(&blocked).await?;
        Ok(rows.iter().filter_map(|row| row[0].parse().ok()).collect())
    }

    /// Ends the processes, and waits until they are gone.
    pub(super) async fn end(&self, processes: &[i32]) -> Result<(), ProveError> {
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ANY(ARRAY{processes:?}::int[])"
        );
        while !self.ask(&end).await?.is_empty() {}
        Ok(())
    }

    /// All that the tables have, but for what a default of a column makes: it may differ from run to run.
    pub(super) async fn contents(&self) -> Result<Contents, ProveError> {
        let tables = self.ask(
            "SELECT c.oid::regclass, format('SELECT to_jsonb(t) - %L::text[] FROM %s t ORDER BY 1', array( \
                SELECT a.attname FROM pg_attribute a \
                LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
                WHERE a.attrelid = c.oid AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) \
                    ~* 'nextval|now\\(|current_|timestamp\\(|random|uuid')), c.oid::regclass) \
             FROM pg_class c WHERE c.relkind = 'r' AND c.relname <> 'auto_mutex_fence' \
             AND c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname = ANY(current_schemas(false)))",
        );
        let mut contents = Contents::new();
        for table in tables.await? {
            let [name, question] = table.try_into().unwrap_or_default();
            let rows = self.ask(&question).await?;
            contents.insert(name, rows.into_iter().flatten().collect());
        }
        Ok(contents)
    }
}
