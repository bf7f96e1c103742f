//! Fenced writes on real databases, and the guide's chapter about them.

/// The check failed with such an error.
macro_rules! refused {
    ($result:expr, $kind:ident) => {{
        let result = $result;
        let is_it = matches!(result, Err(auto_mutex_fence::FenceError::$kind { .. }));
        assert!(is_it, "{result:?}");
    }};
}

mod cases;
mod guide;
mod in_store;
mod mariadb;
mod objects;
mod plain_postgres;
mod postgres;
mod prove;
mod redis;
mod sqlite;
#[cfg(feature = "sqlx-0_9")]
mod sqlx_0_9;
mod world;
mod writes;

use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex_fence::{FenceError, Token};

/// A token of the lock of most tests.
fn token(number: u64) -> Token {
    Token::new("shop:report", number)
}

/// The tokens of a refused holder: its own, and the newest.
#[track_caller]
fn stale(result: Result<(), FenceError>) -> (u64, u64) {
    match result {
        Err(FenceError::Stale { ours, newest, .. }) => (ours, newest),
        other => panic!("not refused: {other:?}"),
    }
}

/// A name for the tables of one test.
fn fresh_name() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    format!("t{}", LAST.fetch_add(1, Ordering::Relaxed))
}
