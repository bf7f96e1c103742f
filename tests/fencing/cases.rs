//! What the fence does on each database server. `cases!` makes a test of each case.

/// For a module with `Db::new()`, `pool(isolation)`, `id(&mut connection)`, `waits(id)` and `kill(id)`, and the table
/// `work` with one row.
macro_rules! cases {
    ($database:ty, $connection:ty) => {
        use auto_mutex_fence::{Fence, FenceError, Token};
        use auto_mutex_tests::events::{becomes, soon};
        use sqlx::{Connection as _, Executor as _, Transaction};

        use crate::{stale, token};

        type Tx = Transaction<'static, $database>;

        async fn fresh(isolation: &'static str) -> (Db, sqlx::Pool<$database>) {
            let db = Db::new().await;
            let pool = db.pool(isolation).await;
            (db, pool)
        }

        async fn fenced(pool: &sqlx::Pool<$database>, number: u64) -> Tx {
            let mut tx = pool.begin().await.unwrap();
            token(number).fence(&mut tx).await.unwrap();
            tx
        }

        async fn write(tx: &mut $connection, value: i32) {
            let sql = format!("UPDATE work SET value = {value} WHERE id = 1");
            assert_eq!(tx.execute(&*sql).await.unwrap().rows_affected(), 1);
        }

        async fn read(connection: &mut $connection) -> i32 {
            let query = sqlx::query_scalar("SELECT value FROM work WHERE id = 1");
            query.fetch_one(connection).await.unwrap()
        }

        /// Begins the check of `tokens` in a transaction, which has to wait for another.
        async fn waiting(db: &Db, mut tx: Tx, tokens: &[Token]) -> Waiting {
            let (id, tokens) = (id(&mut tx).await, tokens.to_vec());
            let check = tokio::spawn(async move {
                let result = tokens.fence(&mut tx).await;
                (result, tx)
            });
            becomes("the check waits for the row", async || db.waits(id).await).await;
            Waiting(check)
        }

        struct Waiting(tokio::task::JoinHandle<(Result<(), FenceError>, Tx)>);

        impl Waiting {
            async fn end(self) -> (Result<(), FenceError>, Tx) {
                soon("the check ends", self.0).await.unwrap()
            }
        }

        #[tokio::test]
        async fn a_stale_transaction_can_not_write_and_the_same_holder_can_again() {
            let (_, pool) = fresh(READ_COMMITTED).await;
            for value in [2, 3] {
                let mut tx = fenced(&pool, 2).await;
                write(&mut tx, value).await;
                tx.commit().await.unwrap();
            }
            let mut tx = pool.begin().await.unwrap();
            assert_eq!(stale(token(1).fence(&mut tx).await), (1, 2));
            drop(tx);
            assert_eq!(read(&mut pool.acquire().await.unwrap()).await, 3);
            let error = token(1).fence(&mut pool.begin().await.unwrap()).await.unwrap_err();
            let text = "a later holder of `shop:report` has written: our fencing token is 1, and the newest is 2";
            assert_eq!(error.to_string(), text);
        }

        #[tokio::test]
        async fn the_next_holder_waits_for_the_commit_and_then_wins() {
            for isolation in ISOLATIONS {
                let (db, pool) = fresh(isolation).await;
                // The row may be new, or known already: after a rollback, it is new again.
                let mut first = fenced(&pool, 1).await;
                let next = waiting(&db, pool.begin().await.unwrap(), &[token(2)]).await;
                write(&mut first, 1).await;
                first.commit().await.unwrap();
                let (mut checked, mut tx) = next.end().await;
                if SNAPSHOTS_CONFLICT && isolation != READ_COMMITTED {
                    refused!(checked, Conflict);
                    tx = pool.begin().await.unwrap();
                    checked = token(2).fence(&mut tx).await;
                }
                checked.unwrap();
                assert_eq!(read(&mut tx).await, 1, "{isolation}");
                write(&mut tx, 2).await;
                tx.commit().await.unwrap();

                let mut late = pool.begin().await.unwrap();
                assert_eq!(stale(token(1).fence(&mut late).await), (1, 2), "{isolation}");
            }
        }

        #[tokio::test]
        async fn a_stale_holder_waits_for_the_next_one_and_is_refused() {
            for isolation in ISOLATIONS {
                let (db, pool) = fresh(isolation).await;
                let mut next = fenced(&pool, 2).await;
                let late = waiting(&db, pool.begin().await.unwrap(), &[token(1)]).await;
                write(&mut next, 2).await;
                next.commit().await.unwrap();
                let (checked, tx) = late.end().await;
                drop(tx);
                match SNAPSHOTS_CONFLICT && isolation != READ_COMMITTED {
                    true => refused!(checked, Conflict),
                    false => assert_eq!(stale(checked), (1, 2), "{isolation}"),
                }
            }
        }

        #[tokio::test]
        async fn a_snapshot_from_before_the_next_holder_helps_nobody() {
            for isolation in ISOLATIONS {
                let (_, pool) = fresh(isolation).await;
                let mut late = pool.begin().await.unwrap();
                assert_eq!(read(&mut late).await, 0);
                let mut next = fenced(&pool, 2).await;
                write(&mut next, 2).await;
                next.commit().await.unwrap();
                let checked = token(1).fence(&mut late).await;
                match SNAPSHOTS_CONFLICT && isolation != READ_COMMITTED {
                    true => refused!(checked, Conflict),
                    false => assert_eq!(stale(checked), (1, 2), "{isolation}"),
                }
            }
        }

        /// A savepoint that is rolled back takes the fence along.
        #[tokio::test]
        async fn a_second_fence_counts_after_a_savepoint() {
            let (db, pool) = fresh(READ_COMMITTED).await;
            let mut first = pool.begin().await.unwrap();
            let mut inner = first.begin().await.unwrap();
            token(1).fence(&mut inner).await.unwrap();
            inner.rollback().await.unwrap();
            token(1).fence(&mut first).await.unwrap();
            let next = waiting(&db, pool.begin().await.unwrap(), &[token(2)]).await;
            first.commit().await.unwrap();
            next.end().await.0.unwrap();
        }

        #[tokio::test]
        async fn after_a_rollback_the_name_is_new_again() {
            let (db, pool) = fresh(READ_COMMITTED).await;
            let first = fenced(&pool, 9).await;
            let next = waiting(&db, pool.begin().await.unwrap(), &[token(2)]).await;
            first.rollback().await.unwrap();
            let (checked, tx) = next.end().await;
            checked.unwrap();
            tx.commit().await.unwrap();
            let mut late = pool.begin().await.unwrap();
            assert_eq!(stale(token(1).fence(&mut late).await), (1, 2));
        }

        #[tokio::test]
        async fn several_names_are_checked_in_one_order() {
            let (db, pool) = fresh(READ_COMMITTED).await;
            let both = |a, b| [Token::new("b", b), Token::new("a", a)];
            let mut first = pool.begin().await.unwrap();
            Token::new("a", 1).fence(&mut first).await.unwrap();
            // It waits for `a`, and does not have `b` yet.
            let next = waiting(&db, pool.begin().await.unwrap(), &both(2, 2)).await;
            let mut other = pool.begin().await.unwrap();
            let check = Token::new("b", 1).fence(&mut other);
            soon("the row is free", check).await.unwrap();
            other.commit().await.unwrap();
            first.commit().await.unwrap();
            let (checked, tx) = next.end().await;
            checked.unwrap();
            tx.commit().await.unwrap();

            let mut late = pool.begin().await.unwrap();
            match both(1, 5).fence(&mut late).await {
                Err(FenceError::Stale { name, ours: 1, newest: 2 }) => assert_eq!(name, "a"),
                other => panic!("{other:?}"),
            }
        }

        #[tokio::test]
        async fn the_longest_names_and_tokens_are_kept_apart() {
            let (_, pool) = fresh(READ_COMMITTED).await;
            let [upper, lower] = ["A", "a"].map(|name| name.repeat(1024));
            let most = i64::MAX as u64;
            let mut tx = pool.begin().await.unwrap();
            Token::new(upper, most).fence(&mut tx).await.unwrap();
            Token::new(lower, 1).fence(&mut tx).await.unwrap();
            for wrong in [vec![], vec![token(0)], vec![token(most + 1)], vec![token(1), token(2)]] {
                refused!(wrong.fence(&mut tx).await, Invalid);
            }
        }

        #[tokio::test]
        async fn without_its_table_it_says_how_to_create_it() {
            let (_, pool) = fresh(READ_COMMITTED).await;
            pool.execute("DROP TABLE auto_mutex_fence").await.unwrap();
            let error = token(1).fence(&mut pool.begin().await.unwrap()).await.unwrap_err();
            let how = format!("create it with `auto-mutex fence --dialect {DIALECT}`");
            assert!(error.to_string().ends_with(&how), "{error}");
        }

        #[tokio::test]
        async fn what_is_missing_shows_at_the_start() {
            let (_, pool) = fresh(READ_COMMITTED).await;
            let client = auto_mutex::Client::connect("memory://").unwrap();
            let ready = async || {
                let mut tx = pool.begin().await.unwrap();
                client.scope(auto_mutex_fence::ready(&mut tx)).await
            };
            ready().await.unwrap();
            let rows = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM auto_mutex_fence");
            assert_eq!(rows.fetch_one(&pool).await.unwrap(), 0);
            pool.execute("DROP TABLE auto_mutex_fence").await.unwrap();
            refused!(ready().await, MissingTable);
            let mut connection = pool.acquire().await.unwrap();
            let outside = client.scope(auto_mutex_fence::ready(&mut *connection));
            refused!(outside.await, NoTransaction);
            client.shutdown().await;
            refused!(ready().await, Resource);
        }

        #[tokio::test]
        async fn a_connection_is_fenced_only_in_a_transaction() {
            let (_, pool) = fresh(READ_COMMITTED).await;
            let mut connection = pool.acquire().await.unwrap();
            refused!(token(1).fence(&mut *connection).await, NoTransaction);
            let mut tx = connection.begin().await.unwrap();
            token(1).fence(&mut *tx).await.unwrap();
        }

        #[tokio::test]
        async fn who_loses_the_connection_has_written_nothing() {
            let (db, pool) = fresh(READ_COMMITTED).await;
            let mut first = pool.begin().await.unwrap();
            let killed = id(&mut first).await;
            token(1).fence(&mut first).await.unwrap();
            write(&mut first, 1).await;
            let next = waiting(&db, pool.begin().await.unwrap(), &[token(2)]).await;
            db.kill(killed).await;
            let (checked, mut tx) = next.end().await;
            checked.unwrap();
            assert_eq!(read(&mut tx).await, 0);
            write(&mut tx, 2).await;
            tx.commit().await.unwrap();
            first.commit().await.unwrap_err();
            assert_eq!(read(&mut pool.acquire().await.unwrap()).await, 2);
        }

        /// As with any lock that is released by the end of a block, while its caller owns the transaction.
        #[tokio::test]
        async fn a_lock_that_is_released_before_the_commit_does_no_harm() {
            let (db, pool) = fresh(READ_COMMITTED).await;
            let client = auto_mutex::Client::connect("memory://").unwrap();
            let mutex = client.mutex("report");

            let mut first = pool.begin().await.unwrap();
            let guard = mutex.lock().await.unwrap();
            guard.fence(&mut first).await.unwrap();
            write(&mut first, 1).await;
            drop(guard);

            let guard = mutex.lock().await.unwrap();
            let tokens = auto_mutex_fence::Tokens::tokens(&guard);
            let next = waiting(&db, pool.begin().await.unwrap(), &tokens).await;
            first.commit().await.unwrap();
            let (checked, mut tx) = next.end().await;
            checked.unwrap();
            let seen = read(&mut tx).await;
            assert_eq!(seen, 1, "the next holder sees what the first one wrote");
            write(&mut tx, seen + 1).await;
            tx.commit().await.unwrap();
            assert_eq!(read(&mut pool.acquire().await.unwrap()).await, 2);
        }
    };
}
pub(crate) use cases;
