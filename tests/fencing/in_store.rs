//! Locks in PostgreSQL, and writes in the same database: the fence needs no table.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use auto_mutex::{Client, Config, MutexGuard};
use auto_mutex_fence::{Dialect, Fence, FenceError, Table, Token, Tokens};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::process;
use auto_mutex_tests::real_time::real_time;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, Executor, PgConnection, PgPool, Postgres, Transaction};
use tokio::sync::OnceCell;

use crate::postgres::{self, ISOLATIONS, READ_COMMITTED, SERVER};
use crate::{fresh_name, plain_postgres, stale};

/// A database with the locks, and a row of `work` for each lock of a test.
async fn url() -> &'static str {
    static URL: OnceCell<String> = OnceCell::const_new();
    let made = URL.get_or_init(async || {
        let url = database().await;
        let pool = PgPool::connect(&url).await.unwrap();
        let work = "CREATE TABLE work (name TEXT PRIMARY KEY, value INT)";
        pool.execute(work).await.unwrap();
        url
    });
    made.await
}

async fn database() -> String {
    let name = format!("locks_{}", fresh_name());
    let create = format!("CREATE DATABASE {name}");
    let pool = PgPool::connect(&SERVER.url("postgres")).await.unwrap();
    pool.execute(&*create).await.unwrap();
    SERVER.url(&name)
}

/// On a busy machine, the first client makes the schema for some time.
fn config(url: &str) -> Config {
    Config::new(url).unwrap().connect_timeout("60s")
}

fn client(url: &str) -> Client {
    Client::connect(config(url)).unwrap()
}

async fn connect() -> Client {
    client(url().await)
}

async fn pool(isolation: &str) -> PgPool {
    let set = format!("-cdefault_transaction_isolation={isolation}");
    let set = set.replace(' ', "%5C%20").replace('=', "%3D");
    let url = format!("{}&options={set}", url().await);
    PgPool::connect(&url).await.unwrap()
}

async fn add(db: &mut PgConnection, name: &str) {
    let sql =
        "INSERT INTO work VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET value = work.value + 1";
    sqlx::query(sql).bind(name).execute(db).await.unwrap();
}

/// The lock may change during the check, which an older snapshot doesn't show: then again.
async fn fence(pool: &PgPool, tokens: &[Token]) -> Result<(), FenceError> {
    loop {
        match tokens.fence(&mut pool.begin().await.unwrap()).await {
            Err(FenceError::Conflict { .. }) => {}
            result => return result,
        }
    }
}

async fn value(db: &PgPool, name: &str) -> Option<i32> {
    let query = sqlx::query_scalar("SELECT value FROM work WHERE name = $1");
    query.bind(name).fetch_optional(db).await.unwrap()
}

/// Begins the check in a transaction that has to wait for another.
async fn waiting(
    pool: &PgPool,
    tokens: Vec<Token>,
) -> tokio::task::JoinHandle<(Result<(), FenceError>, Transaction<'static, Postgres>)> {
    let mut tx = pool.begin().await.unwrap();
    let id = postgres::id(&mut tx).await;
    let check = tokio::spawn(async move { (tokens.fence(&mut tx).await, tx) });
    becomes("the check waits", async || postgres::waits(pool, id).await).await;
    check
}

/// Takes a lock from its holder, who does not hear of it in time.
async fn after(client: &Client, name: &str) -> MutexGuard {
    let mutex = client.mutex(name);
    assert!(mutex.force_unlock().await.unwrap());
    mutex.lock().await.unwrap()
}

#[tokio::test]
async fn a_stale_holder_is_refused_before_the_next_one_has_written() {
    let [here, there] = [connect().await, connect().await];
    for isolation in ISOLATIONS {
        let pool = pool(isolation).await;
        let name = fresh_name();
        let guard = here.mutex(&name).lock().await.unwrap();
        let tokens = guard.tokens();
        for _ in 0..2 {
            let mut tx = pool.begin().await.unwrap();
            guard.fence(&mut tx).await.unwrap();
            add(&mut tx, &name).await;
            tx.commit().await.unwrap();
        }
        let next = after(&there, &name).await;
        let fenced = fence(&pool, &tokens).await;
        let text = fenced.as_ref().unwrap_err().to_string();
        let (ours, newest) = stale(fenced);
        assert_eq!(ours, guard.fencing_token());
        assert!((ours + 1..=next.fencing_token()).contains(&newest));
        assert!(text.contains("a later holder"), "{text}");

        let tokens = next.tokens();
        let mut late = pool.begin().await.unwrap();
        late.execute("SELECT * FROM work").await.unwrap();
        next.unlock().await.unwrap();
        let fenced = fence(&pool, &tokens).await;
        let text = fenced.as_ref().unwrap_err().to_string();
        let (ours, newest) = stale(fenced);
        assert_eq!(ours, newest);
        assert!(text.contains("the lease of"), "{text}");
        // A snapshot from before that passes, which does no harm: no later holder has fenced.
        let fenced = tokens.fence(&mut late).await;
        assert_eq!(fenced.is_ok(), isolation != READ_COMMITTED, "{fenced:?}");
        assert_eq!(value(&pool, &name).await, Some(2));
    }
    let names = [fresh_name(), fresh_name()];
    let both = here.multi(&names).lock().await.unwrap();
    let tokens = both.tokens();
    let mut tx = pool(READ_COMMITTED).await.begin().await.unwrap();
    both.fence(&mut tx).await.unwrap();
    tx.rollback().await.unwrap();
    let _next = after(&there, &names[1]).await;
    let mut tx = pool(READ_COMMITTED).await.begin().await.unwrap();
    stale(tokens.fence(&mut tx).await);
}

#[tokio::test]
async fn the_next_holder_waits_for_the_commit_and_sees_it() {
    let [here, there] = [connect().await, connect().await];
    for isolation in ISOLATIONS {
        let pool = pool(isolation).await;
        for is_released in [true, false] {
            let name = fresh_name();
            let guard = here.mutex(&name).lock().await.unwrap();
            let tokens = guard.tokens();
            let mut first = pool.begin().await.unwrap();
            guard.fence(&mut first).await.unwrap();
            let mut late = pool.begin().await.unwrap();
            late.execute("SELECT * FROM work").await.unwrap();
            let next = match is_released {
                true => {
                    guard.unlock().await.unwrap();
                    there.mutex(&name).lock().await.unwrap()
                }
                false => after(&there, &name).await,
            };
            let check = waiting(&pool, next.tokens()).await;
            add(&mut first, &name).await;
            first.commit().await.unwrap();
            let (mut checked, mut tx) = soon("the check ends", check).await.unwrap();
            if isolation != READ_COMMITTED {
                refused!(checked, Conflict);
                tx = pool.begin().await.unwrap();
                checked = next.fence(&mut tx).await;
            }
            checked.unwrap();
            add(&mut tx, &name).await;
            tx.commit().await.unwrap();
            assert_eq!(value(&pool, &name).await, Some(2), "{isolation}");
            // A snapshot from before that does not help.
            match tokens.fence(&mut late).await {
                Err(FenceError::Conflict { .. }) if isolation != READ_COMMITTED => {}
                checked => drop(stale(checked)),
            }
        }
    }
}

/// The holder in a process of its own, which the next test starts.
#[ignore = "a_paused_holder_can_do_nothing starts it"]
#[tokio::test]
async fn holder() {
    let [url, name] = ["URL", "NAME"].map(|key| env::var(key).unwrap());
    // It bears that the machine stands still for five seconds.
    let client = Client::connect(config(&url).lease("8s")).unwrap();
    let mut db = plain_postgres::connect(&url).await;
    let tx = db.transaction().await.unwrap();
    let guard = client.mutex(&name).lock().await.unwrap();
    let tokens = guard.tokens();
    guard.fence(&tx).await.unwrap();
    let said = std::io::stdin();
    println!("\nfenced");
    said.read_line(&mut String::new()).unwrap();
    let insert = "INSERT INTO work VALUES ($1, 1)";
    tx.execute(insert, &[&name]).await.unwrap();
    tx.commit().await.unwrap();
    println!("\ncommitted");
    said.read_line(&mut String::new()).unwrap();
    let tx = db.transaction().await.unwrap();
    let (ours, newest) = stale(tokens.fence(&tx).await);
    assert!(ours < newest);
    println!("\nrefused");
}

struct Holder(Child, BufReader<std::process::ChildStdout>);

impl Holder {
    fn says(&mut self, expected: &str) {
        let mut lines = self.1.by_ref().lines().map(Result::unwrap);
        let said = lines.any(|line| line == expected);
        assert!(said, "the holder ended without saying {expected:?}");
    }

    fn goes_on(&mut self) {
        writeln!(self.0.stdin.as_mut().unwrap()).unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_holder_can_do_nothing() {
    let _watch = real_time();
    let (url, name) = (url().await, fresh_name());
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "in_store::holder"]);
    command.envs([("URL", url), ("NAME", &name)]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut holder = Holder(child, output);
    holder.says("fenced");
    process::stop_child(holder.0.id());

    let pool = pool(READ_COMMITTED).await;
    let next = connect().await.mutex(&name).lock().await.unwrap();
    let check = waiting(&pool, next.tokens()).await;
    process::cont(holder.0.id());
    holder.goes_on();
    holder.says("committed");
    let (checked, mut tx) = soon("the check ends", check).await.unwrap();
    checked.unwrap();
    add(&mut tx, &name).await;
    tx.commit().await.unwrap();
    assert_eq!(value(&pool, &name).await, Some(2));
    holder.goes_on();
    holder.says("refused");
}

#[tokio::test]
async fn a_long_transaction_stops_no_renewal() {
    let _watch = real_time();
    let (url, name) = (database().await, fresh_name());
    let client = Client::connect(config(&url).lease("9s")).unwrap();
    let guard = client.mutex(&name).lock().await.unwrap();
    let pool = PgPool::connect(&url).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    guard.fence(&mut tx).await.unwrap();
    let ends = async || {
        let query = sqlx::query_scalar::<_, i64>("SELECT (sole).ends FROM auto_mutex.names");
        query.fetch_one(&pool).await.unwrap()
    };
    let first = ends().await;
    becomes("the lease is renewed", async || ends().await > first).await;
    guard.check().unwrap();
    guard.fence(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn calls_that_share_a_kept_lock_are_told_apart() {
    let client = Client::connect(config(url().await).retain("60s")).unwrap();
    let pool = pool(READ_COMMITTED).await;
    let name = fresh_name();
    let mutex = client.mutex(&name);
    let granted = async || {
        let sql = "SELECT tok FROM auto_mutex.names WHERE name = $1";
        let query = sqlx::query_scalar::<_, i64>(sql).bind(&name);
        query.fetch_one(&pool).await.unwrap()
    };
    // A kept lock is lost if the machine stands still for two seconds.
    let (earlier, guard) = loop {
        let earlier = mutex.lock().await.unwrap().tokens();
        let first = granted().await;
        becomes("the lock is kept", async || granted().await > first).await;
        let guard = mutex.lock().await.unwrap();
        if guard.tokens()[0].ticket() == earlier[0].ticket() {
            break (earlier, guard);
        }
    };
    // The store raises its token while the call is inside.
    let entered = guard.fencing_token() / 1024;
    let is_known = async || granted().await.unsigned_abs() > entered;
    becomes("the store knows of the call", is_known).await;
    let mut tx = pool.begin().await.unwrap();
    guard.fence(&mut tx).await.unwrap();
    let late = waiting(&pool, earlier.clone()).await;
    tx.commit().await.unwrap();
    let (checked, _) = soon("the check ends", late).await.unwrap();
    let (ours, newest) = stale(checked);
    assert_eq!(ours, earlier[0].number());
    assert!(newest >= guard.fencing_token());
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let url = database().await;
    let pool = PgPool::connect(&url).await.unwrap();
    let mut db = plain_postgres::connect(&url).await;
    let elsewhere = connect().await;
    let lock = elsewhere.mutex(fresh_name()).lock().await;
    let held = lock.unwrap().tokens(); // as the guard may be lost on a busy machine
    // Without the schema, and with one that has other locks.
    for _ in 0..2 {
        let fenced = held.fence(&mut pool.begin().await.unwrap()).await;
        let plain = held.fence(&db.transaction().await.unwrap()).await;
        for fenced in [fenced, plain] {
            let text = fenced.as_ref().unwrap_err().to_string();
            assert!(text.ends_with("fence `Table(&mut transaction)`"), "{text}");
            refused!(fenced, Elsewhere);
        }
        client(&url);
    }
    pool.execute(Dialect::Postgres.migration()).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    held.fence(Table(&mut tx)).await.unwrap();

    let guard = client(&url).mutex("lost").lock().await.unwrap();
    let held = guard.tokens();
    pool.execute("CREATE ROLE writer LOGIN").await.unwrap();
    let theirs = url.replace("test@", "writer@");
    let options = PgPoolOptions::new().max_connections(1);
    let theirs = options.connect(&theirs).await.unwrap();
    let mut tx = theirs.begin().await.unwrap();
    refused!(held.fence(&mut tx).await, Forbidden);
    tx.rollback().await.unwrap();
    let grants = auto_mutex_postgres::grants("writer");
    pool.execute(&*grants).await.unwrap();
    let mut tx = theirs.begin().await.unwrap();
    held.fence(&mut tx).await.unwrap();
    drop(tx);

    // As after a crash.
    let lose = "TRUNCATE auto_mutex.names, auto_mutex.tickets, auto_mutex.fences";
    pool.execute(lose).await.unwrap();
    refused!(fence(&pool, &held).await, Elsewhere);
}

/// Where the table is missing because none is needed, and where it is needed because the locks are elsewhere.
#[tokio::test]
async fn a_check_at_the_start_asks_where_the_locks_are() {
    let here = database().await;
    let pool = PgPool::connect(&here).await.unwrap();
    let (locks_here, locks_elsewhere) = (client(&here), connect().await);
    let mut tx = pool.begin().await.unwrap();
    let ready = auto_mutex_fence::ready(&mut tx);
    locks_here.scope(ready).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    let ready = auto_mutex_fence::ready(&mut tx);
    refused!(locks_elsewhere.scope(ready).await, Elsewhere);
    for with_table in [false, true] {
        if with_table {
            pool.execute(Dialect::Postgres.migration()).await.unwrap();
        }
        for locks in [&locks_here, &locks_elsewhere] {
            let mut tx = pool.begin().await.unwrap();
            let ready = locks.scope(auto_mutex_fence::ready(Table(&mut tx))).await;
            match with_table {
                true => ready.unwrap(),
                false => refused!(ready, MissingTable),
            }
        }
    }
}

#[tokio::test]
async fn a_holder_of_a_forgotten_name_is_stale() {
    let url = database().await;
    let guard = client(&url).mutex("idle").lock().await.unwrap();
    let held = guard.tokens();
    guard.unlock().await.unwrap();
    let pool = PgPool::connect(&url).await.unwrap();
    let forget = "SELECT auto_mutex.forget_idle(1000, auto_mutex.clock(NULL) + 900000000)";
    let forgotten: i32 = sqlx::query_scalar(forget).fetch_one(&pool).await.unwrap();
    assert_eq!(forgotten, 1);
    // As if that had taken its time.
    let granted = |minutes: u64| {
        let number = held[0].number() - minutes * 60_000_000 * 1024;
        [Token::new("idle", number).with_ticket(held[0].ticket())]
    };
    stale(fence(&pool, &granted(11)).await);
    refused!(fence(&pool, &granted(0)).await, Elsewhere);
}

/// So a program that ignores the error can't commit, unless the refusal was in a savepoint.
#[tokio::test]
async fn a_refusal_ends_the_transaction_or_its_savepoint() {
    let (client, name) = (connect().await, fresh_name());
    let guard = client.mutex(&name).lock().await.unwrap();
    let (pool, held) = (pool(READ_COMMITTED).await, guard.tokens());
    guard.unlock().await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    let mut inner = tx.begin().await.unwrap();
    stale(held.fence(&mut inner).await);
    inner.execute("SELECT 1").await.unwrap_err();
    inner.rollback().await.unwrap();
    add(&mut tx, &name).await;
    stale(held.fence(&mut tx).await);
    tx.execute("SELECT 1").await.unwrap_err();
}
