//! [`Bench`]: a database with the functions, which are told the time.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};

use auto_mutex_difference::{Outcome, Request, Subject};
use auto_mutex_seam::store::{MemberId, Message, Name, Op, Reply, lock, parse_message};
use tokio::join;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification, Row, Statement};
use uuid::Uuid;

use crate::call::{self, Call, stored};
use crate::reply;
use crate::schema::VERSION;
use crate::schema::script::script;
use crate::tests::server::shared;

/// What is kept of a name: its rows in these tables.
const TABLES: [&str; 4] = ["names", "tickets", "signals", "gone"];
/// One in so many operations runs as it does behind a pooler.
const IN_EPOCH: u32 = 4;
/// One in so many plain operations runs as it does together with others.
const TOGETHER: u32 = 3;
/// Before one in so many operations, the tables are rewritten, which must not change anything.
const COMPACT: u32 = 499;
/// A member that listens has locked this number.
const NUMBER: &str = "hashtextextended($1::text, 0)";
/// How a name is stored.
const FORM: &str = "SELECT CASE WHEN (sole).ticket IS NOT NULL THEN 'sole' WHEN held + waiting > 0 THEN 'table' ELSE 'free' END \
    FROM auto_mutex.names WHERE name = $1";
/// Moves the only holder of a name to the other tickets.
const SPREAD: &str = "WITH moved AS (INSERT INTO auto_mutex.tickets SELECT (sole).* FROM auto_mutex.names \
    WHERE name = $1 AND (sole).ticket IS NOT NULL) UPDATE auto_mutex.names SET sole = NULL, soonest = least(soonest, coalesce((sole).ends, soonest)) WHERE name = $1";

/// Ends the other sessions of the database, and waits until they have.
const ALONE: &str = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity \
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";

/// A database with the functions. It serves one run after another.
pub(super) struct Bench {
    runtime: Runtime,
    client: Client,
    /// Has the locks that show that a member listens: a connection does not see its own.
    presence: Client,
    heard: Arc<Mutex<Vec<Notification>>>,
    listening: HashSet<MemberId>,
    /// By function, and whether it is in an epoch.
    statements: HashMap<(&'static str, bool), Statement>,
    form: Statement,
    epoch: Uuid,
    /// The operations so far.
    steps: u32,
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

impl Bench {
    /// Uses a new database.
    pub(super) fn start() -> Self {
        Self::with(&Self::database(), &script(VERSION))
    }

    pub(super) fn database() -> String {
        runtime().block_on(shared().database())
    }

    /// Makes a bench whose schema has `other` instead of `part`.
    pub(super) fn edited(database: &str, part: &str, other: &str) -> Self {
        let schema = script(VERSION);
        assert_eq!(schema.matches(part).count(), 1, "{part}");
        Self::with(database, &schema.replace(part, other))
    }

    fn with(database: &str, schema: &str) -> Self {
        let (server, runtime) = (shared(), runtime());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = heard.clone();
        let url = format!("postgres://{}", server.url(database));
        let (client, presence, epoch, form) = runtime.block_on(async {
            let (client, mut connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(async move {
                while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
                    if let Ok(AsyncMessage::Notification(note)) = message {
                        lock(&notes).push(note);
                    }
                }
            });
            // A bench whose run has failed leaves its members, and sessions that may not have ended.
            client.batch_execute(ALONE).await.unwrap();
            client.batch_execute(schema).await.unwrap();
            let members = "DELETE FROM auto_mutex.members";
            client.batch_execute(members).await.unwrap();
            let epoch = "SELECT id FROM auto_mutex.epoch";
            let epoch = client.query_one(epoch, &[]).await.unwrap().get(0);
            let form = client.prepare(FORM).await.unwrap();
            (client, server.admin(database).await, epoch, form)
        });
        Self {
            runtime,
            client,
            presence,
            heard,
            listening: HashSet::new(),
            statements: HashMap::new(),
            form,
            epoch,
            steps: 0,
        }
    }

    fn execute(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) {
        let done = self.client.execute(sql, parameters);
        self.runtime.block_on(done).unwrap();
    }

    fn row(&self, client: &Client, sql: &str, parameter: &str) -> Option<Row> {
        let parameters: [&(dyn ToSql + Sync); 1] = [&parameter];
        let row = client.query_opt(sql, &parameters);
        self.runtime.block_on(row).unwrap()
    }

    /// The query of a call at a given time, which is the last parameter.
    fn prepare(&mut self, call: &Call, in_epoch: bool) -> Statement {
        let key = (call.function, in_epoch);
        if let Some(statement) = self.statements.get(&key) {
            return statement.clone();
        }
        let query = call::query(call.function, call.values.len(), in_epoch);
        let time = query.matches('$').count() + 1;
        let query = query.replace(", NULL)", &format!(", ${time}::int8)"));
        let preparing = self.client.prepare(&query);
        let statement = self.runtime.block_on(preparing).unwrap();
        self.statements.insert(key, statement.clone());
        statement
    }

    /// Runs the last request after the one before it, if any, whose reply comes first.
    fn ask(&mut self, before: Option<&Op>, request: &Request<'_>) -> (Option<Reply>, Outcome) {
        let (caller, opens) = (request.member, request.opens as i64);
        let together = call::is_plain(request.op) && self.steps.is_multiple_of(TOGETHER);
        let call = if before.is_some() || together {
            let all = before.into_iter().chain([request.op]);
            Call::together(all.map(|op| (request.name, op)), caller, opens)
        } else {
            Call::of(request.name, request.op, caller, opens)
        };
        let looks = matches!(request.op, Op::Inspect { .. });
        let in_epoch = self.steps.is_multiple_of(IN_EPOCH) && !looks;
        let statement = self.prepare(&call, in_epoch);
        let look = Call::of(request.name, &Op::Inspect { above: 0 }, caller, opens);
        let inspect = self.prepare(&look, false);
        let now = request.now as i64;
        let (mut values, mut looking) = (call.plain(), look.plain());
        if in_epoch {
            values.push(&self.epoch);
        }
        for values in [&mut values, &mut looking] {
            values.push(&now);
        }
        // A probe is not told the time.
        values.truncate(statement.params().len());
        let name: [&(dyn ToSql + Sync); 1] = [&request.name.as_str()];
        let (client, form) = (&self.client, &self.form);
        let answers = self.runtime.block_on(async {
            join!(
                client.query_opt(form, &name),
                client.query(&statement, &values),
                client.query(&inspect, &looking),
            )
        });
        let form = answers.0.unwrap();
        let rows = [(call.function, answers.1), (look.function, answers.2)];
        let replies = rows.map(|(function, rows)| reply::parse(function, &rows.unwrap()));
        let [mut replies, mut info] = replies.map(Result::unwrap);
        let Some(Reply::Info(info)) = info.pop() else {
            panic!("no record");
        };
        let outcome = Outcome {
            reply: replies.pop().unwrap(),
            messages: self.messages(request.name),
            info,
            form: form.map_or("absent".to_owned(), |row| row.get(0)),
        };
        (replies.pop(), outcome)
    }

    fn prepare_for(&mut self, request: &Request<'_>) {
        self.steps += 1;
        if request.spread {
            self.execute(SPREAD, &[&request.name.as_str()]);
        }
        if self.steps.is_multiple_of(COMPACT) {
            self.execute("SELECT auto_mutex.compact()", &[]);
        }
    }

    /// The messages since the last look, which must be about the name.
    fn messages(&mut self, name: &Name) -> Vec<(MemberId, Message)> {
        let told = |note: Notification| {
            let is_to = |member: &&MemberId| member.to_string() == note.channel();
            let member = self.listening.iter().find(is_to).unwrap();
            let (about, message) =
                parse_message(&stored(note.payload())).expect("a message of ours");
            assert_eq!(about, *name);
            (*member, message)
        };
        lock(&self.heard).drain(..).map(told).collect()
    }
}

impl Subject for Bench {
    /// The rows of each table.
    type Kept = [String; TABLES.len()];

    fn reset(&mut self) {
        for member in self.listening.clone() {
            self.listen(member, false);
        }
        // Faster than TRUNCATE, which makes files.
        for table in TABLES {
            self.execute(&format!("DELETE FROM auto_mutex.{table}"), &[]);
        }
        lock(&self.heard).clear();
    }

    fn listen(&mut self, member: MemberId, listens: bool) {
        let name = member.to_string();
        let (verb, change, lock) = match listens {
            true => (
                "LISTEN",
                format!(
                    "INSERT INTO auto_mutex.members SELECT id, 0, id, NULL, {NUMBER} FROM CAST($1::text AS uuid) AS id"
                ),
                "pg_try_advisory_lock",
            ),
            false => (
                "UNLISTEN",
                "DELETE FROM auto_mutex.members WHERE member = $1::text::uuid".to_owned(),
                "pg_advisory_unlock",
            ),
        };
        self.execute(&format!("{verb} \"{name}\""), &[]);
        self.execute(&change, &[&name]);
        let done = self.row(&self.presence, &format!("SELECT {lock}({NUMBER})"), &name);
        assert!(done.unwrap().get::<_, bool>(0));
        match listens {
            true => self.listening.insert(member),
            false => self.listening.remove(&member),
        };
    }

    fn apply(&mut self, request: &Request<'_>) -> Outcome {
        self.prepare_for(request);
        self.ask(None, request).1
    }

    fn pair(&mut self, release: &Request<'_>, acquire: &Request<'_>) -> (Reply, Outcome) {
        if !call::is_plain(release.op) {
            let first = self.apply(release);
            let mut last = self.apply(acquire);
            last.messages.splice(0..0, first.messages);
            return (first.reply, last);
        }
        self.prepare_for(release);
        let (first, last) = self.ask(Some(release.op), acquire);
        (first.unwrap(), last)
    }

    fn keep(&mut self, name: &Name) -> Self::Kept {
        TABLES.map(|table| {
            let sql = format!(
                "SELECT coalesce(jsonb_agg(to_jsonb(x)), '[]')::text FROM auto_mutex.{table} AS x WHERE name = $1"
            );
            let kept = self.row(&self.client, &sql, name.as_str());
            kept.unwrap().get(0)
        })
    }

    fn lose(&mut self, name: &Name) {
        for table in TABLES {
            let sql = format!("DELETE FROM auto_mutex.{table} WHERE name = $1");
            self.execute(&sql, &[&name.as_str()]);
        }
    }

    fn restore(&mut self, name: &Name, kept: &Self::Kept) {
        self.lose(name);
        for (table, kept) in TABLES.iter().zip(kept) {
            let sql = format!(
                "INSERT INTO auto_mutex.{table} SELECT * FROM jsonb_populate_recordset(NULL::auto_mutex.{table}, $1::text::jsonb)"
            );
            self.execute(&sql, &[kept]);
        }
    }

    fn check_rest(&mut self, name: &Name, token: u64) {
        let count = |table| format!("(SELECT count(*) FROM auto_mutex.{table} WHERE name = $1)");
        let rest = ["tickets", "signals", "gone"].map(count).join(" + ");
        let sql = format!(
            "SELECT tok, held + waiting + signals + gone + {rest} FROM auto_mutex.names WHERE name = $1"
        );
        let rest = self.row(&self.client, &sql, name.as_str());
        let rest = rest.map_or((0, 0_i64), |row| (row.get(0), row.get(1)));
        assert_eq!(rest, (token as i64, 0), "{name}");
    }
}
