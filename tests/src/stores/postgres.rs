//! PostgreSQL, with clients that listen, and with clients that ask.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use auto_mutex::Config;

use super::pool::{Lent, Pool};
use super::{TestStore, config};
use crate::databases::{self, IN_A_HURRY, Server};

static PLAIN: Pool<Postgres> = Pool::new(Postgres::start, Postgres::empty);

/// A PostgreSQL for one test, and the query of its clients' URL.
pub struct OnPostgres(Lent<Postgres>, &'static str);

/// A server with a console, because a program for each statement would take longer than most tests.
struct Postgres {
    server: Server,
    console: Mutex<(Child, BufReader<ChildStdout>)>,
}

impl Postgres {
    fn start() -> Self {
        let server = databases::postgres(&IN_A_HURRY).expect("PostgreSQL starts");
        let mut psql = Command::new(databases::psql().expect("it is beside the server"));
        psql.args("-X -q -A -t -h 127.0.0.1 -U test -p".split(' '));
        psql.args([&server.port().to_string(), "postgres"]);
        psql.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut psql = psql.stderr(Stdio::null()).spawn().expect("psql runs");
        let output = BufReader::new(psql.stdout.take().expect("a piped stdout"));
        Self {
            server,
            console: Mutex::new((psql, output)),
        }
    }

    /// Runs a statement; `false` if it fails.
    fn runs(&self, sql: &str) -> bool {
        let mut console = self.console.lock().expect("no panic");
        let (psql, output) = &mut *console;
        let mut input = psql.stdin.as_ref().expect("a piped stdin");
        writeln!(input, "{sql};\n\\echo :SQLSTATE").expect("psql reads");
        let mut lines = output.lines().map(|line| line.expect("psql answers"));
        let code = lines.find(|line| line.len() == 5);
        code.as_deref() == Some("00000")
    }

    /// Waits until the last client has disconnected, because its late release would leave rows, and then empties the
    /// server.
    fn empty(&self) -> bool {
        self.runs(
            "DO $$ BEGIN
               FOR turn IN 1..400 LOOP
                 PERFORM pg_stat_clear_snapshot();
                 EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'auto_mutex');
                 PERFORM pg_sleep(0.005);
               END LOOP;
               ASSERT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'auto_mutex');
               IF to_regnamespace('auto_mutex') IS NOT NULL THEN
                 DELETE FROM auto_mutex.names;
                 DELETE FROM auto_mutex.tickets;
                 DELETE FROM auto_mutex.signals;
                 DELETE FROM auto_mutex.gone;
                 DELETE FROM auto_mutex.mail;
                 DELETE FROM auto_mutex.members;
               END IF;
             END $$",
        )
    }
}

/// A PostgreSQL.
pub fn postgres() -> OnPostgres {
    OnPostgres(PLAIN.take(), "")
}

/// A PostgreSQL whose clients do not listen.
pub fn postgres_by_asking() -> OnPostgres {
    OnPostgres(PLAIN.take(), "&poll=200ms")
}

impl TestStore for OnPostgres {
    fn answer(&self, answers: bool) -> bool {
        self.0.server.suspend(!answers);
        true
    }

    fn forget(&self, name: &str) -> bool {
        let of = |table| format!("DELETE FROM auto_mutex.{table} WHERE name = 'suite:{name}';");
        let all = ["names", "tickets", "signals", "gone"].map(of).concat();
        self.0.runs(&format!("DO $$ BEGIN {all} END $$"))
    }

    fn config(&self) -> Config {
        config(format!("{}{}", self.0.server.url("postgres"), self.1))
    }
}
