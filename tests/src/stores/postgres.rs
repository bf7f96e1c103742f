//! PostgreSQL, with clients that listen, and with clients that ask.

use auto_mutex::Config;

use super::pool::{Lent, Pool};
use super::{TestStore, config};
use crate::databases::{self, IN_A_HURRY, Server};

static PLAIN: Pool<Server> = Pool::new(start, empty);

/// A PostgreSQL for one test, and the query of its clients' URL.
pub struct OnPostgres(Lent<Server>, &'static str);

fn start() -> Server {
    databases::postgres(&IN_A_HURRY).expect("PostgreSQL starts")
}

/// Waits until the last client has disconnected, because its late release would leave rows, and then empties the server.
fn empty(server: &Server) -> bool {
    let left = server.runs(
        "DO $$ BEGIN
           FOR turn IN 1..200 LOOP
             PERFORM pg_stat_clear_snapshot();
             IF NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name LIKE 'auto_mutex:%') THEN
               RETURN;
             END IF;
             PERFORM pg_sleep(0.01);
           END LOOP;
           RAISE 'a client stays';
         END $$",
    );
    // Without a client there was no schema.
    let _ = server
        .runs("TRUNCATE auto_mutex.names, auto_mutex.tickets, auto_mutex.signals, auto_mutex.gone");
    left
}

/// A PostgreSQL.
pub fn postgres() -> OnPostgres {
    OnPostgres(PLAIN.take(), "")
}

/// A PostgreSQL whose clients do not listen.
pub fn postgres_by_asking() -> OnPostgres {
    OnPostgres(PLAIN.take(), "&poll=50ms")
}

impl TestStore for OnPostgres {
    fn answer(&self, answers: bool) -> bool {
        self.0.suspend(!answers);
        true
    }

    fn forget(&self, name: &str) -> bool {
        let of = |table| format!("DELETE FROM auto_mutex.{table} WHERE name = 'suite:{name}';");
        let all = ["names", "tickets", "signals", "gone"].map(of).concat();
        self.0.runs(&all)
    }

    fn keeps(&self) -> bool {
        self.1.is_empty()
    }

    fn config(&self) -> Config {
        config(format!("{}{}", self.0.url("postgres"), self.1))
    }
}
