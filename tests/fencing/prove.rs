//! The prover on PostgreSQL: it finds the mistakes that people make, and finds none in writes that are right.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use auto_mutex_fence::{Dialect, Fence, Proof, ProveError, Prover, Token, prove};
use sqlx::{Connection, Executor, PgConnection};

use crate::plain_postgres::connect;
use crate::postgres::SERVER;

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Done = Result<(), Error>;

const TABLES: &str = "CREATE TABLE report (month INT PRIMARY KEY, total BIGINT, fence BIGINT);
    CREATE TABLE line (id SERIAL, total BIGINT, at TIMESTAMPTZ DEFAULT now());
    CREATE TABLE lock (name TEXT PRIMARY KEY, token BIGINT);
    CREATE TABLE invoice (total BIGINT, updated_at TIMESTAMPTZ);
    CREATE TABLE audit (total BIGINT, at TIMESTAMPTZ);";
/// Writes that are functions, for `writes.rs`.
const FUNCTIONS: &str = "
    CREATE FUNCTION check_then_write(own BIGINT) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT FROM lock WHERE token > own) THEN RAISE 'stale'; END IF;
        INSERT INTO lock VALUES ('report', own) ON CONFLICT (name) DO UPDATE SET token = greatest(lock.token, own);
        UPDATE report SET total = own WHERE month = 1;
    END $$;
    CREATE FUNCTION locked_write(own BIGINT) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        PERFORM FROM report WHERE month = 1 FOR UPDATE;
        IF EXISTS (SELECT FROM report WHERE month = 1 AND fence > own) THEN RAISE 'stale'; END IF;
        UPDATE report SET total = own, fence = own WHERE month = 1;
    END $$;
    CREATE FUNCTION fenced_write(own BIGINT) RETURNS void LANGUAGE plpgsql AS $$ DECLARE newest BIGINT; BEGIN
        INSERT INTO auto_mutex_fence AS f VALUES ('report', own)
            ON CONFLICT (name) DO UPDATE SET token = greatest(f.token, own) RETURNING token INTO newest;
        IF newest > own THEN RAISE 'stale'; END IF;
        UPDATE report SET total = total + own % 1000 WHERE month = 1;
    END $$;";
const ROWS: &str =
    "DELETE FROM report; DELETE FROM line; DELETE FROM lock; DELETE FROM auto_mutex_fence;
    DELETE FROM invoice; DELETE FROM audit;
    INSERT INTO report VALUES (1, 0, 0), (2, 0, 0); INSERT INTO invoice VALUES (0);";

/// Makes the tables afresh, in a database of this name.
pub(crate) async fn setup(name: &str) -> Result<String, Error> {
    let url = SERVER.url(name);
    let mut db = match PgConnection::connect(&url).await {
        Ok(db) => db,
        Err(_) => {
            let mut main = PgConnection::connect(&SERVER.url("postgres")).await?;
            let create = format!("CREATE DATABASE {name}");
            main.execute(&*create).await?;
            // Both writes can block each other.
            let timeout = format!("ALTER DATABASE {name} SET deadlock_timeout = '10ms'");
            main.execute(&*timeout).await?;
            let mut db = PgConnection::connect(&url).await?;
            db.execute(TABLES).await?;
            db.execute(FUNCTIONS).await?;
            db.execute(Dialect::Postgres.migration()).await?;
            db
        }
    };
    db.execute(ROWS).await?;
    db.close().await?;
    Ok(url)
}

/// Executes a statement with what the holder writes: its token. Returns how many rows it changed.
pub(crate) async fn execute(
    db: &mut PgConnection,
    statement: &str,
    token: &Token,
) -> Result<u64, Error> {
    let query = sqlx::query(statement).bind(i64::try_from(token.number())?);
    Ok(query.execute(db).await?.rows_affected())
}

pub(crate) const UPDATE: &str = "UPDATE report SET total = $1 WHERE month = 1";
pub(crate) const APPEND: &str = "INSERT INTO line (total) VALUES ($1)";
const KEEP: &str =
    "INSERT INTO lock VALUES ('report', $1) ON CONFLICT (name) DO UPDATE SET token = $1";

fn proves(result: Result<Proof, ProveError>) -> Done {
    println!("{result:?}");
    assert!(result?.schedules > 1);
    Ok(())
}

fn finds(result: Result<Proof, ProveError>) -> Done {
    match result {
        Err(ProveError::Stale(schedule)) => println!("{schedule}"),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// Each transaction locks a row that the other one needs: the server ends one, which is an outcome like others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlocks() -> Done {
    let deadlocks = AtomicUsize::new(0);
    let write = async |url: String, token: Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        let mut tx = db.begin().await?;
        let months = token.number() % 2;
        for month in [1 + months, 2 - months] {
            let update = format!("UPDATE report SET total = $1 WHERE month = {month}");
            let updated = execute(&mut tx, &update, &token).await;
            let is_deadlock = |error: &Error| error.to_string().contains("deadlock");
            if updated.as_ref().is_err_and(is_deadlock) {
                deadlocks.fetch_add(1, Ordering::Relaxed);
            }
            updated?;
        }
        token.fence(&mut tx).await?;
        tx.commit().await?;
        Ok(())
    };
    proves(prove(async || setup("deadlocks").await, write).await)?;
    assert!(deadlocks.into_inner() > 0);
    Ok(())
}

/// What a lost connection has not committed is gone, and the write goes on with another one.
#[tokio::test]
async fn lost_connection() -> Done {
    let write = async |url: String, token: Token| -> Done {
        let mut lost = PgConnection::connect(&url).await?;
        lost.execute("BEGIN; UPDATE report SET total = 1").await?;
        let end = "SELECT pg_terminate_backend(pg_backend_pid())";
        assert!(lost.execute(end).await.is_err());
        let mut db = PgConnection::connect(&url).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut tx, UPDATE, &token).await?;
        Ok(tx.commit().await?)
    };
    let prover = Prover {
        switches: 1,
        ..Prover::default()
    };
    let proof = prover
        .prove(async || setup("lost_connection").await, write)
        .await;
    proves(proof)
}

/// A write that goes on with another connection, after its own was lost with the fence.
#[tokio::test]
async fn reconnects_without_a_fence() -> Done {
    let write = async |url: String, token: Token| -> Done {
        let mut lost = PgConnection::connect(&url).await?;
        let mut tx = lost.begin().await?;
        token.fence(&mut tx).await?;
        if execute(&mut tx, UPDATE, &token).await.is_err() {
            let mut db = PgConnection::connect(&url).await?;
            execute(&mut db, UPDATE, &token).await?;
            return Ok(());
        }
        Ok(tx.commit().await?)
    };
    finds(prove(async || setup("reconnects").await, write).await)
}

/// Another driver, which sends several statements at a time, and `COPY`; by a Unix socket, in a schema.
#[tokio::test]
async fn tokio_postgres() -> Done {
    let schema = async || {
        let url = setup("tokio_postgres").await?;
        let db = connect(&url).await;
        let mut tables = format!(
            "DROP SCHEMA IF EXISTS other CASCADE; CREATE SCHEMA other; SET search_path = other; {TABLES}"
        );
        tables += Dialect::Postgres.migration();
        db.batch_execute(&tables).await?;
        let folder = db.query_one("SHOW unix_socket_directories", &[]).await?;
        let folder: String = folder.get::<_, String>(0).replace('/', "%2F");
        let port = SERVER.port();
        Ok::<_, Error>(format!(
            "postgres://test@{folder}:{port}/tokio_postgres?options=-csearch_path%3Dother"
        ))
    };
    let fenced = async |url: String, token: Token| -> Done {
        let mut db = connect(&url).await;
        let tx = db.transaction().await?;
        token.fence(&tx).await?;
        let number = i64::try_from(token.number())?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&number];
        let (appended, kept) = (tx.execute(APPEND, &values), tx.execute(KEEP, &values));
        let (appended, kept) = tokio::join!(appended, kept);
        assert_eq!((appended?, kept?), (1, 1));
        let copy = "COPY line (total) FROM STDIN";
        let copy = tx.copy_in::<_, &[u8]>(copy).await?;
        let mut copy = std::pin::pin!(copy);
        futures::SinkExt::send(&mut copy, format!("{number}\n").leak().as_bytes()).await?;
        assert_eq!(copy.finish().await?, 1);
        tx.commit().await?;
        Ok(())
    };
    let prover = Prover {
        switches: 2,
        ..Prover::default()
    };
    let proof = prover.prove(schema, fenced).await?;
    assert!(proof.schedules >= 10, "{proof:?}");

    let unfenced = async |url: String, token: Token| -> Done {
        let number = i64::try_from(token.number())?;
        connect(&url).await.execute(KEEP, &[&number]).await?;
        Ok(())
    };
    finds(prove(schema, unfenced).await)
}

/// What prevents a proof, for writes and setups that a test of its own would not use.
#[tokio::test]
async fn no_proof() -> Done {
    let ready = async || setup("no_proof").await;
    let write = async |url: String, statement: &str, token: &Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        execute(&mut db, statement, token).await?;
        Ok(())
    };
    let same =
        async |url, token| write(url, "UPDATE report SET total = 5 WHERE $1 > 0", &token).await;
    let proof = prove(ready, same).await;
    assert!(matches!(proof, Err(ProveError::SameContents)), "{proof:?}");

    let nothing = async |url, token| write(url, "DELETE FROM line WHERE total = $1", &token).await;
    let is_nothing = |proof| matches!(proof, Err(ProveError::NothingWritten));
    assert!(is_nothing(prove(ready, nothing).await));

    let own = SERVER.url("no_proof");
    let past = async |_, token| write(own.clone(), UPDATE, &token).await;
    assert!(is_nothing(prove(ready, past).await));

    let random = "UPDATE report SET total = $1, fence = 1e9 * random()";
    let proof = prove(ready, async |url, token| write(url, random, &token).await).await;
    let Err(ProveError::NotDeterministic(differences)) = proof else {
        panic!("{proof:?}")
    };
    assert!(differences.contains("report {\"fence\": "), "{differences}");

    // The fence of the first run is still there in the second one.
    let fenced = async |url: String, token: Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut tx, UPDATE, &token).await?;
        Ok(tx.commit().await?)
    };
    let once = ready().await?;
    let proof = prove(async || Ok::<_, Error>(once.clone()), fenced).await;
    let Err(ProveError::Failed(schedule)) = proof else {
        panic!("{proof:?}")
    };
    let stale = "older  returns -> Err(\"a later holder of `prove` has written";
    assert!(schedule.contains(stale), "{schedule}");

    let prover = Prover {
        schedules: 3,
        ..Prover::default()
    };
    let proof = prover.prove(ready, fenced).await;
    assert!(matches!(proof, Err(ProveError::TooMany(3))), "{proof:?}");
    // One holder after the other, in both orders.
    let prover = Prover {
        switches: 1,
        ..Prover::default()
    };
    let proof = prover.prove(ready, fenced).await?;
    assert!(proof.schedules > 2);

    let proof = prove(async || Err::<String, _>("no disk"), fenced).await;
    assert_eq!(proof.unwrap_err().to_string(), "`setup` failed: no disk");
    let proof = prove(async || Ok::<_, Error>("mysql".to_owned()), fenced).await;
    assert!(matches!(proof, Err(ProveError::Database(_))), "{proof:?}");
    Ok(())
}

/// A write that never ends is stopped by a limit, which names the statements.
#[tokio::test]
async fn limits() -> Done {
    let spins = async |url: String, token: Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        while execute(
            &mut db,
            "UPDATE report SET total = $1 WHERE month = 3",
            &token,
        )
        .await?
            == 0
        {}
        Ok(())
    };
    let ready = async || setup("limits").await;
    let prover = Prover {
        steps: 60,
        ..Prover::default()
    };
    let Err(ProveError::Endless(schedule)) = prover.prove(ready, spins).await else {
        panic!("it ended")
    };
    assert!(
        schedule.contains("\n  … 37 more …\n  newer  UPDATE report"),
        "{schedule}"
    );
    assert!(schedule.lines().count() <= 25);

    let waits = async |url: String, _| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        db.execute("UPDATE report SET total = 1").await?;
        std::future::pending().await
    };
    let prover = Prover {
        time: Duration::from_secs(1),
        ..Prover::default()
    };
    let Err(ProveError::Endless(schedule)) = prover.prove(ready, waits).await else {
        panic!("it ended")
    };
    let steps = "  newer  UPDATE report SET total = 1 -> UPDATE 2";
    assert!(steps.starts_with(&schedule), "{schedule}");
    Ok(())
}

/// The row of a process that was killed keeps all others out. (Without that, the write is right.)
#[tokio::test]
async fn killed_process_leaves_a_row() -> Done {
    let write = async |url: String, token: Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        let take = "INSERT INTO lock VALUES ('report', $1) ON CONFLICT DO NOTHING";
        while execute(&mut db, take, &token).await? == 0 {}
        let update = "UPDATE report SET total = $1, fence = $1 WHERE month = 1 AND fence <= $1";
        execute(&mut db, update, &token).await?;
        execute(&mut db, "DELETE FROM lock", &token).await.map(drop)
    };
    let prover = Prover {
        steps: 60,
        ignore: &["lock"],
        ..Prover::default()
    };
    let proof = prover
        .prove(async || setup("killed_process").await, write)
        .await;
    let Err(ProveError::Endless(schedule)) = proof else {
        panic!("{proof:?}")
    };
    assert!(schedule.contains("r  dies\n"), "{schedule}");
    Ok(())
}

/// Who finds the lock taken gives up: the newer holder, too.
#[tokio::test]
async fn newer_holder_is_refused() -> Done {
    let write = async |url: String, token: Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        let take = "INSERT INTO lock VALUES ('report', $1) ON CONFLICT DO NOTHING";
        if execute(&mut db, take, &token).await? == 0 {
            return Err("busy".into());
        }
        execute(&mut db, UPDATE, &token).await?;
        execute(&mut db, "DELETE FROM lock WHERE token = $1", &token).await?;
        Ok(())
    };
    let proof = prove(async || setup("newer_holder_is_refused").await, write).await;
    let Err(ProveError::NewerRefused(schedule)) = proof else {
        panic!("{proof:?}")
    };
    let busy = "newer  returns -> Err(\"busy\")\n";
    assert!(schedule.contains(busy), "{schedule}");
    Ok(())
}

/// The check waits for a lock, and then goes by what it read before. The text has each statement, and what came of it.
#[tokio::test]
async fn check_in_a_subquery() -> Done {
    let write = async |url: String, token: Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        let mut tx = db.begin().await?;
        let update = "UPDATE report SET total = $1, fence = $1\n  \
            WHERE month = 1 AND (SELECT fence FROM report WHERE month = 1) <= $1";
        execute(&mut tx, update, &token).await?;
        Ok(tx.commit().await?)
    };
    let proof = prove(async || setup("check_in_a_subquery").await, write).await;
    let text = format!("{:?}", proof.unwrap_err());
    let text = text.replace("UPDATE report SET total = $1, fence = $1 WHERE month = 1 AND (SELECT fence FROM report WHERE month = 1) <= $1", "update");
    // Both begin at once, and one returns while the other goes on.
    let is_step =
        |line: &&str| !line.ends_with("BEGIN -> BEGIN") && !line.ends_with("returns -> Ok(())");
    let steps = text.lines().filter(is_step);
    let row = |by| format!("report {{\"fence\": {by}, \"month\": 1, \"total\": {by}}}");
    let (older, newer) = (row("4000000000000000001"), row("4000000000000000002"));
    let expected = format!(
        "a stale write landed, in this order of statements:
  newer  update -> UPDATE 1
  older  update -> waits for a lock
  newer  COMMIT -> COMMIT
  older  update -> UPDATE 1
  older  COMMIT -> COMMIT
the older holder has changed what the newer one had written:
  - {newer}
  + {older}"
    );
    let text = steps.collect::<Vec<_>>().join("\n");
    assert_eq!(text, expected);
    Ok(())
}

/// The locks are in the same database: there is no table, and an ignored refusal has ended the transaction.
#[tokio::test]
async fn in_store() -> Done {
    let setup = async || {
        let url = setup("in_store").await?;
        let mut db = PgConnection::connect(&url).await?;
        let schema = "SELECT to_regnamespace('auto_mutex') IS NOT NULL";
        if !sqlx::query_scalar(schema).fetch_one(&mut db).await? {
            db.execute(&*auto_mutex_postgres::schema()).await?;
        }
        Ok::<_, Error>(url)
    };
    let fenced = async |url: String, token: Token| -> Done {
        assert!(token.ticket().is_some());
        let mut db = PgConnection::connect(&url).await?;
        let mut tx = db.begin().await?;
        let _ = token.fence(&mut tx).await;
        execute(&mut tx, UPDATE, &token).await?;
        Ok(tx.commit().await?)
    };
    proves(prove(setup, fenced).await)?;
    let apart = async |url: String, token: Token| -> Done {
        let mut db = PgConnection::connect(&url).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        tx.commit().await?;
        execute(&mut db, UPDATE, &token).await?;
        Ok(())
    };
    finds(prove(setup, apart).await)
}
