//! The server of the URL that `setup` returns: how to reach it, and what to ask it.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

pub(super) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;
/// The rows of each table, sorted.
pub(super) type Contents = BTreeMap<String, Vec<String>>;

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(super) struct Url {
    /// Up to the host, from behind the port up to the parameters, and those that don't say where the server is.
    parts: [String; 3],
    config: Config,
}

impl Url {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = address.split_once("://").ok_or("no URL")?;
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let user = authority.rfind('@').map_or("", |at| &authority[..=at]);
        let only = |keep: fn(&str) -> bool| -> String {
            let all = parameters
                .split('&')
                .map(|parameter| format!("&{parameter}"));
            all.filter(|it| keep(it.split('=').next().unwrap_or_default()))
                .collect()
        };
        // Those of other drivers are unknown to this one.
        let ours = only(|name| matches!(name, "&host" | "&port" | "&options"));
        let theirs = only(|name| !matches!(name, "&host" | "&port" | "&sslmode" | "&"));
        let config = format!("{address}?{}", ours.trim_start_matches('&')).parse()?;
        let parts = [format!("{scheme}://{user}"), format!("/{database}"), theirs];
        Ok(Self { parts, config })
    }

    /// The same by way of a port of this machine.
    pub(super) fn through(&self, port: u16) -> String {
        let [user, database, parameters] = &self.parts;
        format!("{user}127.0.0.1:{port}{database}?sslmode=disable{parameters}")
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let port = *self.config.get_ports().last().unwrap_or(&5432);
        let host = match self.config.get_hosts().last() {
            Some(Host::Tcp(host)) => host,
            #[cfg(unix)]
            Some(Host::Unix(folder)) => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                return Ok(Box::new(tokio::net::UnixStream::connect(path).await?));
            }
            _ => "localhost",
        };
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// A connection that watches the others.
pub(super) struct Observer(Client);

impl Observer {
    pub(super) async fn connect(url: &Url) -> Result<Self> {
        let stream = url.connect().await?;
        let (client, connection) = url.config.connect_raw(stream, NoTls).await?;
        tokio::spawn(connection);
        Ok(Self(client))
    }

    /// The first two columns.
    async fn ask(&self, question: &str) -> Result<Vec<[String; 2]>> {
        let messages = self.0.simple_query(question).await?.into_iter();
        let rows = messages.filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Ok(rows
            .map(|row| [text(row.get(0)), text(row.get(1))])
            .collect())
    }

    /// Which of the processes wait for a lock of another of them.
    pub(super) async fn blocked(&self, processes: &[i32]) -> Result<Vec<i32>> {
        let question = format!(
            "SELECT p, p FROM unnest(ARRAY{processes:?}::int[]) p \
             WHERE pg_blocking_pids(p) || pg_safe_snapshot_blocking_pids(p) && ARRAY{processes:?}::int[]"
        );
        let rows = self.ask(&question).await?;
        Ok(rows
            .iter()
            .flat_map(|[process, _]| process.parse())
            .collect())
    }

    /// Ends the processes, and waits until they are gone.
    pub(super) async fn end(&self, processes: &[i32]) -> Result<()> {
        let end = format!(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE pid = ANY(ARRAY{processes:?}::int[])"
        );
        while !self.ask(&end).await?.is_empty() {}
        Ok(())
    }

    /// What the tables have, except for what a default of a column makes, which may differ from run to run.
    pub(super) async fn contents(&self) -> Result<Contents> {
        const TABLES: &str = "SELECT c.oid::regclass, \
                format('SELECT to_jsonb(t) - %L::text[], 0 FROM %s t ORDER BY 1', array( \
                    SELECT attname FROM pg_attribute \
                    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum \
                    WHERE attrelid = c.oid AND (attidentity <> '' OR pg_get_expr(adbin, adrelid) \
                        ~* 'nextval|now\\(|current_|timestamp\\(|random|uuid') \
                ), c.oid::regclass) \
            FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
            WHERE relkind = 'r' AND relname <> 'auto_mutex_fence' AND nspname = ANY(current_schemas(false))";
        let mut contents = Contents::new();
        for [table, question] in self.ask(TABLES).await? {
            let rows = self.ask(&question).await?;
            contents.insert(table, rows.into_iter().map(|[row, _]| row).collect());
        }
        Ok(contents)
    }
}
