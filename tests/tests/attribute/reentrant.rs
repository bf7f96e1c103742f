//! `reentrant = false`: a nested call for the same lock is an error, and never enters.

use auto_mutex::{
    Client, Config, LockError, auto_mutex, auto_read, auto_semaphore, auto_write, no_auto_mutex,
};

use crate::support::{client, scoped_on};

type Out<T = ()> = Result<T, LockError>;

/// The error of a nested call, which must be about the task's own lock.
#[track_caller]
fn deadlock<T: std::fmt::Debug>(call: Out<T>) {
    match call {
        Err(LockError::Deadlock { cycle, .. }) => assert_eq!(cycle.len(), 1, "{cycle:?}"),
        other => panic!("must not enter: {other:?}"),
    }
}

#[auto_mutex(reentrant = false)]
fn sync(inside: impl FnOnce() -> Out) -> Out {
    inside()
}

#[auto_mutex(reentrant = false)]
async fn future(inside: impl AsyncFnOnce() -> Out) -> Out {
    tokio::task::yield_now().await;
    inside().await
}

#[test]
fn a_nested_async_call_is_a_deadlock() {
    let client = client();
    scoped_on(&client, async {
        let call = future(async || {
            deadlock(future(async || Ok(())).await);
            Ok(())
        });
        call.await.unwrap();
        future(async || Ok(())).await.unwrap();
    });
}

#[test]
fn a_nested_call_may_come_from_a_function_that_re_enters() {
    #[auto_mutex(name = "mixed", reentrant = false)]
    fn never(inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    #[auto_mutex(name = "mixed", reentrant = true)]
    fn enters(inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    // The option is that of the nested call.
    client().blocking_scope(|| {
        never(|| enters(|| Ok(()))).unwrap();
        enters(|| {
            deadlock(never(|| Ok(())));
            Ok(())
        })
        .unwrap();
    });
}

struct Ledger;

#[auto_mutex(reentrant = false, key = id)]
impl Ledger {
    fn close(&self, id: u32, inside: impl FnOnce() -> Out) -> Out {
        let _ = id;
        inside()
    }

    #[auto_mutex(reentrant = true)]
    fn open(&self, id: u32, inside: impl FnOnce() -> Out) -> Out {
        let _ = id;
        inside()
    }

    /// An owner shares its lock, so the default of the block does not apply.
    #[auto_mutex(owner = "me")]
    fn owned(&self, id: u32, inside: impl FnOnce() -> Out) -> Out {
        let _ = id;
        inside()
    }

    #[no_auto_mutex]
    fn both(&self) -> Out {
        self.close(1, || self.close(2, || Ok(())))
    }
}

#[test]
fn a_block_has_a_default_that_a_function_overrides() {
    client().blocking_scope(|| {
        Ledger
            .close(1, || {
                deadlock(Ledger.close(1, || Ok(())));
                Ok(())
            })
            .unwrap();
        Ledger.both().expect("another key is another lock");
        Ledger.open(1, || Ledger.open(1, || Ok(()))).unwrap();
        Ledger.owned(1, || Ledger.owned(1, || Ok(()))).unwrap();
    });
}

#[test]
fn a_site_overrides_the_client() {
    #[auto_mutex]
    fn plain(inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    #[auto_mutex(reentrant = true)]
    fn enters(inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    let off = Config::new("memory://").unwrap().reentrant(false);
    let off = Client::connect(off).unwrap();
    off.blocking_scope(|| {
        plain(|| {
            deadlock(plain(|| Ok(())));
            Ok(())
        })
        .unwrap();
        enters(|| enters(|| Ok(()))).unwrap();
    });
    let on = Config::new("memory://").unwrap().reentrant(true);
    Client::connect(on).unwrap().blocking_scope(|| {
        plain(|| plain(|| Ok(()))).unwrap();
        sync(|| {
            deadlock(sync(|| Ok(())));
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn none_of_several_locks_is_entered_twice() {
    #[auto_mutex(name = "several", keys = keys, reentrant = false)]
    fn several(keys: &[u32], inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    #[auto_mutex(name = "new", was = "{namespace}:several:{id}", reentrant = false)]
    fn renamed(id: u32) -> Out {
        let _ = id;
        Ok(())
    }
    client().blocking_scope(|| {
        several(&[1, 2], || {
            deadlock(several(&[2, 3], || Ok(())));
            deadlock(renamed(1));
            several(&[3, 4], || Ok(()))
        })
        .unwrap();
        several(&[2, 3], || Ok(())).expect("nothing is left");
    });
}

#[test]
fn a_task_gets_no_second_permit_and_does_not_read_twice() {
    #[auto_semaphore(permits = 2, reentrant = false)]
    fn permit(inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    #[auto_read(name = "book", reentrant = false)]
    fn read(inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    #[auto_write(name = "book", reentrant = false)]
    fn write(inside: impl FnOnce() -> Out) -> Out {
        inside()
    }
    client().blocking_scope(|| {
        permit(|| {
            deadlock(permit(|| Ok(())));
            Ok(())
        })
        .unwrap();
        read(|| {
            deadlock(read(|| Ok(())));
            deadlock(write(|| Ok(())));
            Ok(())
        })
        .unwrap();
        write(|| {
            deadlock(read(|| Ok(())));
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn a_handler_gets_the_error() {
    #[auto_mutex(name = "handled", reentrant = false, block = 0, on_timeout = panic, on_error = |error| error.to_string())]
    fn handled(inside: impl FnOnce() -> String) -> String {
        inside()
    }
    let text = client().blocking_scope(|| handled(|| handled(|| "entered".to_owned())));
    assert!(text.contains("would never end"), "{text}");
}

/// While a rayon worker waits in `join`, it runs other jobs inside the waiting body.
#[test]
fn a_job_that_a_waiting_worker_steals_does_not_enter() {
    let client = client();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    pool.install(|| {
        client.blocking_scope(|| {
            sync(|| {
                let (done, stolen) = std::sync::mpsc::channel();
                let neighbour = client.clone();
                let job = move || {
                    let call = neighbour.blocking_scope(|| sync(|| Ok(())));
                    done.send(call).expect("the test waits");
                };
                // The only worker runs the job before the second half of `join`.
                rayon::join(|| rayon::spawn(job), || ());
                deadlock(stolen.try_recv().expect("it ran inside of the body"));
                Ok(())
            })
        })
    })
    .unwrap();
}
