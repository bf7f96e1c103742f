//! The 33 writes by which the prover is measured: 17 that are right, and 16 that a stale holder, or the write of a
//! newer one, gets past. Each has a test, on a real server, which says what the prover must say.

use auto_mutex_fence::{Fence, Proof, ProveError, Prover, Token};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, Executor, PgConnection};

use crate::prove::{APPEND, Done, UPDATE, execute, setup};

/// The check of those who have read about fencing, but not all of it.
async fn check(db: &mut PgConnection, select: &str, token: &Token) -> Done {
    let newest: Option<Option<i64>> = sqlx::query_scalar(select).fetch_optional(db).await?;
    match newest.flatten() {
        Some(newest) if newest.unsigned_abs() > token.number() => Err("stale".into()),
        _ => Ok(()),
    }
}

const READ: &str = "SELECT token FROM lock WHERE name = 'report'";
const KEEP: &str =
    "INSERT INTO lock VALUES ('report', $1) ON CONFLICT (name) DO UPDATE SET token = $1";

/// What the prover has to say of a write.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Stale,
    Lost,
}
use Verdict::{Lost, Right, Stale};

fn judged(expected: &Verdict, result: Result<Proof, ProveError>) {
    let text = result
        .as_ref()
        .map_or_else(ToString::to_string, |it| format!("{it:?}"));
    println!("{text}");
    assert!(text.lines().count() <= 40);
    let verdict = match result {
        Ok(_) => Right,
        Err(ProveError::Stale(_)) => Stale,
        Err(ProveError::LostUpdate(_)) => Lost,
        Err(_) => panic!("no verdict"),
    };
    assert_eq!(verdict, *expected);
}

/// The table, with a test of each write on a connection of its own. In brackets is what the prover ignores.
macro_rules! writes {
    ($($verdict:ident $name:ident $([$($ignored:literal),*])? |$url:ident, $db:ident, $token:ident| $body:block)*) => {
        const ALL: &[(&str, Verdict)] = &[$((stringify!($name), $verdict)),*];

        $(
            #[tokio::test]
            async fn $name() -> Done {
                let write = async |url: String, token: Token| -> Done {
                    let mut db = PgConnection::connect(&url).await?;
                    let ($url, $db, $token) = (&*url, &mut db, &token);
                    let _ = $url;
                    $body
                    Ok(())
                };
                let prover = Prover { ignore: &[$($($ignored),*)?], ..Prover::default() };
                let setup = async || setup(stringify!($name)).await;
                judged(&$verdict, prover.prove(setup, write).await);
                Ok(())
            }
        )*
    };
}

#[test]
fn there_are_33_writes() {
    let right = ALL.iter().filter(|(_, verdict)| *verdict == Right).count();
    assert_eq!((right, ALL.len() - right), (17, 16));
}

/// A row that is locked, or an advisory lock that is taken, is tried again.
fn is_taken(error: &sqlx::Error) -> bool {
    let known = error.as_database_error();
    known
        .and_then(|known| known.code())
        .is_some_and(|code| code == "55P03")
}

writes! {
    Right fence_first |url, db, token| {
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    // The row of the table stays locked until the commit.
    Right fence_after_the_write |url, db, token| {
        let mut tx = db.begin().await?;
        execute(&mut tx, UPDATE, token).await?;
        execute(&mut tx, APPEND, token).await?;
        token.fence(&mut tx).await?;
        tx.commit().await?;
    }

    Right fence_again_before_the_commit |url, db, token| {
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut tx, UPDATE, token).await?;
        token.fence(&mut tx).await?;
        tx.commit().await?;
    }

    Right column_with_the_token |url, db, token| {
        let update = "UPDATE report SET total = $1, fence = $1 WHERE month = 1 AND fence <= $1";
        execute(db, update, token).await?;
    }

    Right upsert_that_compares |url, db, token| {
        let mut tx = db.begin().await?;
        if execute(&mut tx, &format!("{KEEP} WHERE lock.token <= $1"), token).await? == 0 {
            return Err("stale".into());
        }
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    // A refused write has taken a number of the sequence: the ids are not compared, nor the times.
    Right rows_with_defaults |url, db, token| {
        let mut tx = db.begin().await?;
        execute(&mut tx, APPEND, token).await?;
        token.fence(&mut tx).await?;
        tx.commit().await?;
    }

    Right time_of_the_write ["invoice.updated_at"] |url, db, token| {
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut tx, "UPDATE invoice SET total = $1, updated_at = now()", token).await?;
        tx.commit().await?;
    }

    // A refused attempt, too.
    Right audit_of_each_attempt ["audit"] |url, db, token| {
        execute(db, "INSERT INTO audit VALUES ($1, now())", token).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    // The database refuses one of two that read before the other has written.
    Right snapshot_read_serializable |url, db, token| {
        let mut tx = db.begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE").await?;
        check(&mut tx, "SELECT max(total) FROM line", token).await?;
        execute(&mut tx, APPEND, token).await?;
        tx.commit().await?;
    }

    Right sum_after_the_fence |url, db, token| {
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        let read = "SELECT total FROM report WHERE month = 1";
        let total: i64 = sqlx::query_scalar(read).fetch_one(&mut *tx).await?;
        let write = format!("UPDATE report SET total = {total} + $1 % 1000 WHERE month = 1");
        execute(&mut tx, &write, token).await?;
        tx.commit().await?;
    }

    Right two_transactions |url, db, token| {
        for write in [UPDATE, APPEND] {
            let mut tx = db.begin().await?;
            token.fence(&mut tx).await?;
            execute(&mut tx, write, token).await?;
            tx.commit().await?;
        }
    }

    Right savepoint_after_the_fence |url, db, token| {
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        let mut inner = tx.begin().await?;
        execute(&mut inner, APPEND, token).await?;
        inner.rollback().await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Right second_connection_that_reads |url, db, token| {
        let mut other = PgConnection::connect(url).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        other.execute("SELECT count(*) FROM line").await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Right loop_with_nowait |url, db, token| {
        loop {
            let mut tx = db.begin().await?;
            let lock = "SELECT FROM report WHERE month = 1 FOR UPDATE NOWAIT";
            match tx.execute(lock).await {
                Err(error) if is_taken(&error) => tx.rollback().await?,
                locked => {
                    locked?;
                    token.fence(&mut tx).await?;
                    execute(&mut tx, UPDATE, token).await?;
                    tx.commit().await?;
                    break;
                }
            }
        }
    }

    Right loop_with_an_advisory_lock |url, db, token| {
        loop {
            let mut tx = db.begin().await?;
            let lock = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock(7)");
            if !lock.fetch_one(&mut *tx).await? {
                tx.rollback().await?;
                continue;
            }
            token.fence(&mut tx).await?;
            execute(&mut tx, UPDATE, token).await?;
            tx.commit().await?;
            break;
        }
    }

    Right fence_in_a_function |url, db, token| {
        execute(db, "SELECT fenced_write($1)", token).await?;
    }

    Right check_of_a_locked_row_in_a_function |url, db, token| {
        execute(db, "SELECT locked_write($1)", token).await?;
    }

    Stale check_outside_of_the_transaction |url, db, token| {
        check(db, READ, token).await?;
        let mut tx = db.begin().await?;
        execute(&mut tx, KEEP, token).await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Stale snapshot_read_repeatable |url, db, token| {
        let mut tx = db.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ").await?;
        check(&mut tx, "SELECT max(total) FROM line", token).await?;
        execute(&mut tx, APPEND, token).await?;
        tx.commit().await?;
    }

    // There is no row to lock before the first write.
    Stale lock_of_a_row_that_is_missing |url, db, token| {
        let mut tx = db.begin().await?;
        check(&mut tx, &format!("{READ} FOR UPDATE"), token).await?;
        execute(&mut tx, KEEP, token).await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Stale write_before_the_fence |url, db, token| {
        execute(db, UPDATE, token).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut tx, APPEND, token).await?;
        tx.commit().await?;
    }

    Stale write_after_the_commit |url, db, token| {
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        tx.commit().await?;
        execute(db, UPDATE, token).await?;
    }

    Stale fence_that_is_undone |url, db, token| {
        let mut tx = db.begin().await?;
        let mut inner = tx.begin().await?;
        token.fence(&mut inner).await?;
        inner.rollback().await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Stale refusal_that_is_caught_in_a_savepoint |url, db, token| {
        let mut tx = db.begin().await?;
        let mut inner = tx.begin().await?;
        match token.fence(&mut inner).await {
            Ok(()) => inner.commit().await?,
            Err(_) => inner.rollback().await?,
        }
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Stale error_that_is_ignored |url, db, token| {
        let mut tx = db.begin().await?;
        let _ = token.fence(&mut tx).await;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Stale fence_of_another_key |url, db, token| {
        let name = format!("report-{}", token.number());
        let mut tx = db.begin().await?;
        Token::new(name, token.number()).fence(&mut tx).await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    // The connection with the fence can end before the write of the other one.
    Stale second_connection_that_writes |url, db, token| {
        let pool = PgPoolOptions::new().max_connections(2).connect(url).await?;
        let mut tx = pool.begin().await?;
        token.fence(&mut tx).await?;
        execute(&mut *pool.acquire().await?, UPDATE, token).await?;
        tx.commit().await?;
        let _ = db;
    }

    // A stale holder is refused in the end, but not while the newer one has written and not yet raised the token.
    Stale token_that_is_kept_later |url, db, token| {
        let update = "UPDATE report SET total = $1 WHERE month = 1 AND NOT EXISTS (SELECT FROM lock WHERE token > $1)";
        execute(db, update, token).await?;
        execute(db, &format!("{KEEP} WHERE lock.token < $1"), token).await?;
    }

    Stale token_as_a_double |url, db, token| {
        let update = "UPDATE report SET total = $1, fence = $1 WHERE month = 1 AND fence::float <= $1::float";
        execute(db, update, token).await?;
    }

    Stale upsert_without_a_comparison |url, db, token| {
        let mut tx = db.begin().await?;
        execute(&mut tx, KEEP, token).await?;
        execute(&mut tx, UPDATE, token).await?;
        tx.commit().await?;
    }

    Stale check_then_write_in_a_function |url, db, token| {
        execute(db, "SELECT check_then_write($1)", token).await?;
    }

    Lost sum_before_the_fence |url, db, token| {
        let read = "SELECT total FROM report WHERE month = 1";
        let total: i64 = sqlx::query_scalar(read).fetch_one(&mut *db).await?;
        let mut tx = db.begin().await?;
        token.fence(&mut tx).await?;
        let write = format!("UPDATE report SET total = {total} + $1 % 1000 WHERE month = 1");
        execute(&mut tx, &write, token).await?;
        tx.commit().await?;
    }

    // The fence is right, and the sum is read before it.
    Lost sum_before_the_fence_in_one_statement |url, db, token| {
        let number = token.number();
        let write = format!("DO $$ DECLARE old BIGINT; newest BIGINT; BEGIN
            SELECT total INTO old FROM report WHERE month = 1;
            INSERT INTO auto_mutex_fence AS f VALUES ('report', {number})
                ON CONFLICT (name) DO UPDATE SET token = greatest(f.token, {number}) RETURNING token INTO newest;
            IF newest > {number} THEN RAISE 'stale'; END IF;
            UPDATE report SET total = old + {number} % 1000 WHERE month = 1;
        END $$");
        db.execute(&*write).await?;
    }
}
