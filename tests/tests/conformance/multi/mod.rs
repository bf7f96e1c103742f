//! Several locks, all or none.

mod loss;
mod managing;
mod taking;
mod waiting;

pub(crate) use loss::*;
pub(crate) use managing::*;
pub(crate) use taking::*;
pub(crate) use waiting::*;

use crate::prelude::*;

/// Waits until none of `names` has a holder or a waiter.
async fn all_free(observer: &Client, names: &[&str]) {
    becomes!("all are free", {
        let infos = observer.multi(names.iter().copied()).info().await.unwrap();
        infos
            .iter()
            .all(|info| !info.locked && info.waiters.is_empty())
    });
}

/// Whether `name` is free right now.
async fn is_free(observer: &Client, name: &str) -> bool {
    !observer.mutex(name).is_locked().await.unwrap()
}
