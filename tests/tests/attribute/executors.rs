//! Calls in other executors, in runtimes that end, and without a runtime.

use auto_mutex::{LockError, auto_mutex};

use crate::support::{Witness, client, named_client};

#[auto_mutex(name = "x")]
async fn visit(witness: Witness) -> Result<u32, LockError> {
    let _inside = witness.enter();
    for _ in 0..5 {
        smol::future::yield_now().await;
    }
    Ok(1)
}

#[auto_mutex(name = "x")]
fn blocking_visit(witness: &Witness) -> Result<u32, LockError> {
    witness.blocking_visit();
    Ok(1)
}

#[test]
fn smol_and_threads_and_tokio_share_one_lock() {
    let (client, witness) = (client(), Witness::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                smol::block_on(async {
                    let calls = (0..4).map(|_| smol::spawn(client.scope(visit(witness.clone()))));
                    for call in calls.collect::<Vec<_>>() {
                        assert_eq!(call.await.unwrap(), 1);
                    }
                });
            });
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let calls = (0..4).map(|_| tokio::spawn(client.scope(visit(witness.clone()))));
                    for call in calls.collect::<Vec<_>>() {
                        assert_eq!(call.await.unwrap().unwrap(), 1);
                    }
                });
            });
            scope.spawn(|| client.blocking_scope(|| blocking_visit(&witness)).unwrap());
        }
    });
    assert_eq!((witness.calls(), witness.most()), (18, 1));
}

#[test]
fn a_runtime_that_ends_gives_its_locks_back() {
    #[auto_mutex(name = "x")]
    async fn forever() -> Result<(), LockError> {
        std::future::pending().await
    }
    let client = named_client();
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let call = tokio::spawn(client.scope(forever()));
            while !client.mutex("x").is_locked().await.unwrap() {
                assert!(!call.is_finished());
            }
        });
        drop(runtime);
    }
    drop(client.mutex("x").blocking_lock().unwrap());
}
