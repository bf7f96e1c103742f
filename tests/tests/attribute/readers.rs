//! `#[auto_read]` and `#[auto_write]`: the functions of a type share one lock.

use std::sync::Arc;

use auto_mutex::{LockError, auto_read, auto_write};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::TestStore;
use tokio::sync::Barrier;

use crate::support::{Witness, client};

struct Table;

#[auto_write(ns = "suite")]
impl Table {
    async fn change(&self, witness: &Witness) -> Result<(), LockError> {
        witness.visit().await;
        Ok(())
    }

    #[auto_read]
    async fn look(&self, inside: impl AsyncFnOnce()) -> Result<(), LockError> {
        inside().await;
        Ok(())
    }
}

pub(crate) async fn readers_are_inside_together(store: &dyn TestStore) {
    let (one, other) = (store.member(), store.member());
    let barrier = Arc::new(Barrier::new(2));
    let call = |client: &auto_mutex::Client| {
        let barrier = barrier.clone();
        client.scope(async move {
            let inside = async || {
                barrier.wait().await;
            };
            Table.look(inside).await
        })
    };
    let (first, second) = soon("both are inside", async {
        tokio::join!(call(&one), call(&other))
    })
    .await;
    first.and(second).expect("the lock");
}

pub(crate) async fn a_writer_is_alone(store: &dyn TestStore) {
    let members = [store.member(), store.member()];
    let witness = Witness::default();
    let mut tasks = Vec::new();
    for i in 0..12 {
        let (client, witness) = (members[i % 2].clone(), witness.clone());
        tasks.push(tokio::spawn(client.scope(async move {
            if i % 3 == 0 {
                return Table.look(async || assert_eq!(witness.now(), 0)).await;
            }
            Table.change(&witness).await
        })));
    }
    for task in tasks {
        soon("all got in", task)
            .await
            .expect("no panic")
            .expect("the lock");
    }
    assert_eq!((witness.calls(), witness.most()), (8, 1));
}

#[auto_write(name = "nested", block = 0, guard = g)]
fn write<T>(inside: impl FnOnce() -> Result<T, LockError>) -> Result<(u64, T), LockError> {
    Ok((g.fencing_token(), inside()?))
}

#[auto_read(name = "nested", block = 0, guard = g)]
fn read<T>(inside: impl FnOnce() -> Result<T, LockError>) -> Result<(u64, T), LockError> {
    Ok((g.fencing_token(), inside()?))
}

#[test]
fn a_reader_reads_again_and_a_writer_does_both() {
    let client = client();
    let same = |outer, inner| assert_eq!(outer, inner);
    let (outer, (inner, ())) = client.blocking_scope(|| read(|| read(|| Ok(())))).unwrap();
    same(outer, inner);
    let (outer, (inner, ())) = client.blocking_scope(|| write(|| read(|| Ok(())))).unwrap();
    same(outer, inner);
    let (outer, (inner, ())) = client
        .blocking_scope(|| write(|| write(|| Ok(()))))
        .unwrap();
    same(outer, inner);
}
