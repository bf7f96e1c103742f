//! Statements on PostgreSQL that sqlx prepares: `SELECT … FOR UPDATE`, which locks a row until the transaction ends,
//! and two `SELECT 1`, the least that two requests cost. Each task keeps a connection of its own.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::{Connection, Executor, PgConnection};

use super::{Access, Contender, Library, Lock};
use crate::Failure;

/// A row for each lock.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS rows (name text PRIMARY KEY)";

pub(crate) struct Statements {
    locks_rows: bool,
    free: Arc<Mutex<Vec<PgConnection>>>,
}

impl Library for Statements {
    type Lock = StatementsLock;

    /// Opens a connection for each lock.
    async fn connect(access: &Access) -> Result<Self, Failure> {
        let locks = access.locks;
        let mut free = Vec::with_capacity(locks);
        for _ in 0..locks {
            free.push(PgConnection::connect(&access.url).await?);
        }
        let locks_rows = access.contender == Contender::SelectForUpdate;
        if locks_rows && let Some(connection) = free.first_mut() {
            // Several processes may do so at a time.
            connection.execute("SELECT pg_advisory_lock(1)").await?;
            connection.execute(TABLE).await?;
            let insert = "INSERT INTO rows SELECT 'bench:' || n FROM generate_series(0, $1) AS n ON CONFLICT DO NOTHING";
            let insert = sqlx::query(insert).bind(i32::try_from(locks)?);
            insert.execute(&mut *connection).await?;
            connection.execute("SELECT pg_advisory_unlock(1)").await?;
        }
        Ok(Self {
            locks_rows,
            free: Arc::new(Mutex::new(free)),
        })
    }

    fn lock(&self, key: &str, _task: usize) -> StatementsLock {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        StatementsLock {
            row: self.locks_rows.then(|| key.to_owned()),
            connection: free.pop(),
            free: self.free.clone(),
        }
    }

    /// The connections last until the process ends: their bytes are read before.
    async fn close(self) {
        mem::forget(self.free);
    }
}

pub(crate) struct StatementsLock {
    row: Option<String>,
    /// `None` while the lock is held.
    connection: Option<PgConnection>,
    free: Arc<Mutex<Vec<PgConnection>>>,
}

impl Lock for StatementsLock {
    type Guard = PgConnection;

    async fn acquire(&mut self, _turn: u64) -> Result<PgConnection, Failure> {
        let mut connection = self.connection.take().ok_or("no connection is free")?;
        match &self.row {
            Some(row) => {
                connection.execute("BEGIN").await?;
                let query = sqlx::query("SELECT FROM rows WHERE name = $1 FOR UPDATE");
                query.bind(row).execute(&mut connection).await?;
            }
            None => one(&mut connection).await?,
        }
        Ok(connection)
    }

    async fn release(&mut self, mut connection: PgConnection) -> Result<(), Failure> {
        match &self.row {
            Some(_) => {
                connection.execute("COMMIT").await?;
            }
            None => one(&mut connection).await?,
        }
        self.connection = Some(connection);
        Ok(())
    }
}

async fn one(connection: &mut PgConnection) -> Result<(), Failure> {
    sqlx::query("SELECT 1").execute(connection).await?;
    Ok(())
}

impl Drop for StatementsLock {
    fn drop(&mut self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.connection.take());
    }
}
